import type { Pod, Stored } from "kube-controller-runtime";
import { describe, expect, test } from "vitest";
import { expand, MissingSourceError, resolveEnvironment, type Sources } from "./environment.ts";
import { planContainer } from "./launch.ts";
import type { Container } from "./pod.ts";

const podIP = "127.9.0.1";
const contents: Record<string, Record<string, string>> = {
  "Secret/dev/database": { URL: "postgres://db", PASSWORD: "a$(URL)b" },
  "ConfigMap/dev/settings": { URL: "from-settings", REGION: "eu" },
};
const sources: Sources = async (kind, { namespace, name }) => contents[`${kind}/${namespace}/${name}`];

function aPod(container: Partial<Container>): Stored<Pod> {
  return {
    metadata: {
      namespace: "dev",
      name: "coder-1",
      uid: "uid-1",
      resourceVersion: "1",
      labels: { "app/tier": "web" },
    },
    spec: { serviceAccountName: "coder", containers: [{ name: "coder", ...container }] },
  };
}

function environmentOf(container: Partial<Container>) {
  const pod = aPod(container);
  return resolveEnvironment({ name: "coder", ...container }, { pod, podIP, sources });
}

const secretKey = (name: string, key: string, optional?: boolean) => ({
  secretKeyRef: { name, key, ...(optional === undefined ? {} : { optional }) },
});
const field = (fieldPath: string) => ({ fieldRef: { fieldPath } });

describe("a container's environment", () => {
  test("has envFrom before env, and of several sources the later one wins", async () => {
    const envFrom = [{ secretRef: { name: "database" } }, { configMapRef: { name: "settings" } }];
    expect(await environmentOf({ envFrom, env: [{ name: "REGION", value: "us" }] })).toEqual({
      URL: "from-settings",
      PASSWORD: "a$(URL)b",
      REGION: "us",
    });
  });

  test("gets a source's keys with its prefix", async () => {
    const envFrom = [{ prefix: "CODER_PG_", secretRef: { name: "database" } }];
    expect(await environmentOf({ envFrom })).toHaveProperty("CODER_PG_URL", "postgres://db");
  });

  test("sees in $(NAME) what comes before, never what comes after, and expands no value of a source", async () => {
    const env = [
      { name: "EARLY", value: "$(HOST)" },
      { name: "HOST", value: "db" },
      { name: "LATE", value: "$(HOST)/$(REGION)" },
      { name: "COPIED", valueFrom: secretKey("database", "PASSWORD") },
    ];
    const envFrom = [{ configMapRef: { name: "settings" } }];
    expect(await environmentOf({ env, envFrom })).toMatchObject({
      EARLY: "$(HOST)",
      LATE: "db/eu",
      COPIED: "a$(URL)b",
    });
  });

  test("knows the pod through the downward API", async () => {
    const env = [
      { name: "NAME", valueFrom: field("metadata.name") },
      { name: "NAMESPACE", valueFrom: field("metadata.namespace") },
      { name: "ID", valueFrom: field("metadata.uid") },
      { name: "IP", valueFrom: field("status.podIP") },
      { name: "ACCOUNT", valueFrom: field("spec.serviceAccountName") },
      { name: "TIER", valueFrom: field("metadata.labels['app/tier']") },
      { name: "RELAY", value: "http://$(IP):8080" },
    ];
    expect(await environmentOf({ env })).toEqual({
      NAME: "coder-1",
      NAMESPACE: "dev",
      ID: "uid-1",
      IP: podIP,
      ACCOUNT: "coder",
      TIER: "web",
      RELAY: `http://${podIP}:8080`,
    });
  });

  test.each<[string, Partial<Container>, string]>([
    ["a Secret", { envFrom: [{ secretRef: { name: "none" } }] }, 'Secret "none" does not exist'],
    ["a ConfigMap", { envFrom: [{ configMapRef: { name: "none" } }] }, 'ConfigMap "none" does not exist'],
    [
      "a key",
      { env: [{ name: "A", valueFrom: secretKey("database", "NONE") }] },
      'Secret "database" has no key "NONE"',
    ],
    ["a field", { env: [{ name: "A", valueFrom: field("spec.none") }] }, "does not know the field spec.none"],
  ])("can't be made while %s is missing", async (_missing, container, message) => {
    const made = environmentOf(container);
    await expect(made).rejects.toThrow(message);
    await expect(made).rejects.toBeInstanceOf(MissingSourceError);
  });

  test("leaves out what is missing and optional", async () => {
    const env = [
      { name: "A", valueFrom: secretKey("none", "KEY", true) },
      { name: "B", valueFrom: secretKey("database", "NONE", true) },
    ];
    expect(await environmentOf({ env, envFrom: [{ secretRef: { name: "none", optional: true } }] })).toEqual(
      {},
    );
  });
});

test.each([
  ["$(A)-$(B)", "1-2"],
  ["$$(A)", "$(A)"],
  ["$(UNKNOWN)", "$(UNKNOWN)"],
  ["$A $( $", "$A $( $"],
])("%s expands to %s", (text, expected) => {
  expect(expand(text, { A: "1", B: "2" })).toBe(expected);
});

test("command and arguments of a plan are expanded too", async () => {
  const env = [{ name: "PORT", value: "8080" }];
  const pod = aPod({ command: ["/opt/coder"], args: ["--http-address=0.0.0.0:$(PORT)"], env });
  expect(await planContainer(pod, podIP, sources)).toMatchObject({
    command: ["/opt/coder"],
    args: ["--http-address=0.0.0.0:8080"],
  });
});
