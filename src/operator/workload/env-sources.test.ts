import { describe, expect, test } from "vitest";
import type { Sources } from "../sources.ts";
import { definedVariables, type PodEnvironment, variableSources, variableValue } from "./env-sources.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Secrets and ConfigMaps in the namespace, by name. */
interface Content {
  readonly secrets?: Record<string, Record<string, string>>;
  readonly configMaps?: Record<string, Record<string, string>>;
}

function sourcesOf({ secrets = {}, configMaps = {} }: Content): Sources {
  const encoded = (data: Record<string, string>) =>
    Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64(text)]));
  return {
    secret: (name) => secrets[name] && { data: encoded(secrets[name]) },
    configMap: (name) => configMaps[name] && { data: configMaps[name] },
  };
}

const environment = (parts: Partial<PodEnvironment>): PodEnvironment => ({
  extraEnv: [],
  envFrom: [],
  ...parts,
});
const resolved = (parts: Partial<PodEnvironment>, content: Content = {}) =>
  variableValue("URL", environment(parts), sourcesOf(content));
const literal = (value: string, name = "URL") => ({ name, value });
const fromSecret = (name: string, key: string, more = {}) => ({
  name: "URL",
  valueFrom: { secretKeyRef: { name, key, ...more } },
});

describe("the value of a variable", () => {
  test.each<[string, Partial<PodEnvironment>, Content, string]>([
    ["is what the manifest says", { extraEnv: [literal("plain")] }, {}, "plain"],
    ["is empty when the manifest says nothing", { extraEnv: [{ name: "URL" }] }, {}, ""],
    [
      "comes from a key of a Secret",
      { extraEnv: [fromSecret("db", "url")] },
      { secrets: { db: { url: "secret" } } },
      "secret",
    ],
    [
      "comes from a key of a ConfigMap",
      { extraEnv: [{ name: "URL", valueFrom: { configMapKeyRef: { name: "db", key: "url" } } }] },
      { configMaps: { db: { url: "configured" } } },
      "configured",
    ],
    ["is that of the last definition", { extraEnv: [literal("first"), literal("last")] }, {}, "last"],
    [
      "comes from env rather than from envFrom",
      { extraEnv: [literal("env")], envFrom: [{ secretRef: { name: "db" } }] },
      { secrets: { db: { URL: "envFrom" } } },
      "env",
    ],
    [
      "comes from the last source of envFrom that has it",
      {
        envFrom: [
          { secretRef: { name: "a" } },
          { configMapRef: { name: "b" } },
          { secretRef: { name: "c" } },
        ],
      },
      { secrets: { a: { URL: "a" }, c: { OTHER: "c" } }, configMaps: { b: { URL: "b" } } },
      "b",
    ],
    [
      "comes from a key that a prefix completes",
      { envFrom: [{ prefix: "U", secretRef: { name: "db" } }] },
      { secrets: { db: { RL: "prefixed" } } },
      "prefixed",
    ],
  ])("%s", (_, parts, content, value) => {
    expect(resolved(parts, content)).toEqual({ kind: "value", value });
  });

  test.each<[string, Partial<PodEnvironment>, Content]>([
    ["it is not defined", {}, {}],
    [
      "envFrom names an object without it",
      { envFrom: [{ secretRef: { name: "db" } }] },
      { secrets: { db: {} } },
    ],
    ["an optional key is not there", { extraEnv: [fromSecret("db", "url", { optional: true })] }, {}],
  ])("is undefined when %s", (_, parts, content) => {
    expect(resolved(parts, content)).toEqual({ kind: "undefined" });
  });

  test("is unreadable when a field of the pod takes part in it, which only the kubelet knows", () => {
    const ofPod = (name: string) => ({ name, valueFrom: { fieldRef: { fieldPath: "status.podIP" } } });
    expect(resolved({ extraEnv: [ofPod("URL")] })).toEqual({ kind: "unreadable", variable: "URL" });
    const composed = { name: "URL", value: "postgres://$(HOST)/db" };
    expect(resolved({ extraEnv: [ofPod("HOST"), composed] })).toEqual({
      kind: "unreadable",
      variable: "HOST",
    });
  });

  test("is missing, with the source that lacks it, when the pod can't start without it", () => {
    const source = { kind: "Secret", name: "db", key: "url" };
    expect(resolved({ extraEnv: [fromSecret("db", "url")] })).toEqual({ kind: "missing", source });
    const without = { secrets: { db: { uri: "x" } } };
    expect(resolved({ extraEnv: [fromSecret("db", "url")] }, without)).toEqual({
      kind: "missing",
      source,
    });
  });
});

describe("references in a value", () => {
  const password = { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } };
  const content = { secrets: { db: { password: "p$(USER)$$" } } };

  test("refer to other variables, whose values are only expanded if they are literal", () => {
    const user = literal("$(NAME)-admin", "USER");
    const extraEnv = [literal("ada", "NAME"), user, password, literal("$(USER):$(PASSWORD)@db")];
    expect(resolved({ extraEnv }, content)).toEqual({
      kind: "value",
      value: "ada-admin:p$(USER)$$@db",
    });
  });

  test.each([
    ["an unknown variable stays as it is", "$(UNKNOWN)", "$(UNKNOWN)"],
    ["a doubled dollar is one, and no reference", "$$(PASSWORD) $$5", "$(PASSWORD) $5"],
    ["a lone dollar stays", "a$b $ $(", "a$b $ $("],
    ["a variable that refers to itself stays", "x$(URL)", "x$(URL)"],
  ])("%s", (_, text, value) => {
    expect(resolved({ extraEnv: [password, literal(text)] }, content)).toEqual({
      kind: "value",
      value,
    });
  });

  test("to something missing are missing too", () => {
    const found = resolved({ extraEnv: [password, literal("$(PASSWORD)@db")] });
    expect(found).toEqual({ kind: "missing", source: { kind: "Secret", name: "db", key: "password" } });
  });

  test("in a circle end", () => {
    const extraEnv = [literal("$(OTHER)"), literal("$(URL)", "OTHER")];
    expect(resolved({ extraEnv })).toEqual({ kind: "value", value: "$(URL)" });
  });
});

test("the objects to watch are all that may take part in a value, through references too, each once", () => {
  const parts = environment({
    extraEnv: [
      { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "passwords", key: "db" } } },
      { name: "HOST", valueFrom: { configMapKeyRef: { name: "hosts", key: "db" } } },
      literal("$(PASSWORD)@$(HOST)/$(NAME)$(PASSWORD)"),
      { name: "UNRELATED", valueFrom: { secretKeyRef: { name: "unrelated", key: "x" } } },
    ],
    envFrom: [{ secretRef: { name: "more" } }, { prefix: "OTHER_", secretRef: { name: "others" } }],
  });
  const refs = (kind: "Secret" | "ConfigMap") => variableSources(kind, ["URL"], parts);
  expect(refs("Secret")).toEqual(["passwords", "more"]);
  expect(refs("ConfigMap")).toEqual(["hosts"]);
});

test("the defined ones of some variables are those with a value", () => {
  const parts = environment({ extraEnv: [literal("x"), fromSecret("db", "url"), literal("", "EMPTY")] });
  expect(
    definedVariables(["URL", "EMPTY", "ABSENT"], parts, { sources: sourcesOf({}), deployment: undefined }),
  ).toEqual(new Set(["EMPTY"]));
});

describe("variables that are made to take long", () => {
  test("and double each other are given up as too long, before they fill the memory", () => {
    const doubling = Array.from({ length: 60 }, (_, index) =>
      literal(`$(V${index - 1})$(V${index - 1})`, `V${index}`),
    );
    const extraEnv = [literal("x", "V-1"), ...doubling, literal("$(V59)")];
    expect(resolved({ extraEnv })).toEqual({ kind: "tooLong" });
  });

  test("and refer to two others each are looked up once each", () => {
    const pairs = Array.from({ length: 100 }, (_, index) => [
      literal(`$(A${index - 1})$(B${index - 1})`, `A${index}`),
      literal(`$(B${index - 1})$(A${index - 1})`, `B${index}`),
    ]).flat();
    const extraEnv = [literal("", "A-1"), literal("", "B-1"), ...pairs, literal("$(A99)")];
    expect(resolved({ extraEnv })).toEqual({ kind: "value", value: "" });
  });

  test("with a hundred thousand beginnings of a reference are read once", () => {
    // A backtracking expression would take minutes for this input.
    const value = "$(".repeat(10_000);
    expect(resolved({ extraEnv: [literal(value)] })).toEqual({ kind: "value", value });
    const refs = variableSources(
      "Secret",
      ["URL"],
      environment({ extraEnv: [literal("$(".repeat(100_000))] }),
    );
    expect(refs).toEqual([]);
  });
});
