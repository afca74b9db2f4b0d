import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { defaultValues } from "./chart-defaults.ts";
import { manifestLines } from "./format.ts";
import type { JsonObject } from "./json.ts";
import type { ChartName, Release } from "./release.ts";
import { translate } from "./translate.ts";
import { withValues } from "./values.ts";

function releaseOf(given: JsonObject, chart: ChartName = "coder", namespace = "dev"): Release {
  const values = withValues(defaultValues[chart], given);
  return { name: "mine", namespace, chart, version: "2.26.0", appVersion: "2.26.0", values, given };
}
const specOf = (...of: Parameters<typeof releaseOf>) => translate(releaseOf(...of)).manifest.spec;
const remarksOf = (...of: Parameters<typeof releaseOf>) =>
  translate(releaseOf(...of)).remarks.map(({ value }) => value);
const textOf = (...of: Parameters<typeof releaseOf>) => {
  const release = releaseOf(...of);
  const lines = manifestLines({ release, ...translate(release) });
  return lines.map((line) => line.map(({ text }) => text).join("")).join("\n");
};

test("the image's tag is the chart's version where the values have none, and unknown without a version", () => {
  expect(specOf({}).image).toBe("ghcr.io/coder/coder:v2.26.0");
  const unknown = { ...releaseOf({}), appVersion: undefined };
  expect(() => translate(unknown)).toThrow(/--chart coder@2\.26\.0/);
});

test("a control plane has the name of the chart's Service, regardless of the release name", () => {
  expect(translate(releaseOf({})).manifest.metadata).toEqual({ name: "coder", namespace: "dev" });
  expect(translate(releaseOf({}, "provisioner")).manifest.metadata).toEqual({
    name: "mine",
    namespace: "dev",
  });
});

test("a value that no chart reads has a remark with its path", () => {
  expect(remarksOf({ coder: { color: { bright: "red" } } })).toContain("coder.color.bright");
});

test("a value of another type than the chart's is left out with a remark", () => {
  const given = { coder: { replicaCount: "many", env: "A=b", annotations: ["a"] } };
  expect(specOf(given)).not.toMatchObject({ replicas: expect.anything() });
  expect(remarksOf(given)).toEqual(
    expect.arrayContaining(["coder.replicaCount", "coder.env", "coder.annotations"]),
  );
});

describe("daemons", () => {
  const url = (value: string) => ({ coder: { env: [{ name: "CODER_URL", value }] } });

  test.each([
    "http://coder",
    "http://coder.dev",
    "https://coder.dev.svc:443/",
    "http://coder.dev.svc.cluster.local",
  ])("that reach their control plane by %s get its address from the operator", (value) =>
    expect(specOf(url(value), "provisioner")).not.toHaveProperty("extraEnv"),
  );

  test.each(["https://coder.example.com", "http://coder.other.svc.cluster.local", "not a URL"])(
    "that reach coderd by %s go on doing so",
    (value) => expect(specOf(url(value), "provisioner").extraEnv).toEqual([{ name: "CODER_URL", value }]),
  );

  test("bring their tags and organization from variables, and no key", () => {
    const env = [
      { name: "CODER_PROVISIONERD_TAGS", value: "a=b,c=d=e" },
      { name: "CODER_ORGANIZATION", value: "research" },
      { name: "CODER_PROVISIONER_DAEMON_KEY", value: "k" },
    ];
    const spec = specOf({ coder: { env }, provisionerDaemon: { tags: { n: 1 } } }, "provisioner");
    expect(spec).toMatchObject({ tags: { a: "b", c: "d=e", n: "1" }, organizationName: "research" });
    expect(spec).not.toHaveProperty("extraEnv");
  });
});

describe("the printed manifest", () => {
  test("is YAML of the same object for any names of values", () => {
    const given = { "a\nkind: Secret\n#": { "b\u2028c": 1 }, coder: { podAnnotations: { a: "x \ny\t\n" } } };
    const text = textOf(given);
    expect(parse(text)).toEqual(translate(releaseOf(given)).manifest);
    expect(text).not.toMatch(/^kind: Secret/m);
  });

  test("has no value of a variable in its comments, and recommends a Secret for those in plain text", () => {
    const given = {
      coder: { env: [{ name: "CODER_PG_CONNECTION_URL", value: "postgres://a:s3cr3t@db/c" }] },
    };
    const comments = textOf(given).match(/^#.*/gm)?.join("\n");
    expect(comments).toContain("coder.env.CODER_PG_CONNECTION_URL: Its value is in plain text");
    expect(comments).not.toContain("s3cr3t");
    expect(textOf(given)).toContain("postgres://a:s3cr3t@db/c");
  });

  test("remains readable with thousands of unknown values", () => {
    const given = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, at) => [`v${at}`.padEnd(900, "x"), 1]),
    );
    const comments = textOf(given).match(/^#.*/gm) ?? [];
    expect(comments.length).toBeLessThan(210);
    expect(comments.at(-1)).toMatch(/and \d{4} more/);
  });
});

test("values that make no sense are translated as far as they go", () => {
  const env = [null, 1, "text", {}, { name: 7 }, { name: "A", value: {} }];
  const given = { coder: { env, volumes: [{}], certs: { secrets: [{}] }, tls: { secretNames: [1] } } };
  for (const chart of ["coder", "provisioner"] as const) {
    expect(translate(releaseOf(given, chart)).manifest.spec).toHaveProperty("extraEnv");
  }
});
