import { expect, test } from "vitest";
import { defaultValues } from "../import-helm/chart-defaults.ts";
import { releaseValues } from "./values.ts";

const release = (content: unknown) =>
  Buffer.from(Buffer.from(JSON.stringify(content)).toString("base64")).toString("base64");
const found = (config: unknown, names: readonly string[] = []) =>
  releaseValues(release({ config }), new Set(names));

test.each([
  ["a text below a field with such a name", { oidc: { clientSecret: "of-oidc" } }, "of-oidc"],
  ["a text anywhere below it", { secrets: { any: ["of-a-list"] } }, "of-a-list"],
  ["a number", { db: { password: 12345678 } }, "12345678"],
  ["a key of an account", { s3SecretKey: "of-a-bucket" }, "of-a-bucket"],
  ["a key of a service", { openaiKey: "of-a-service" }, "of-a-service"],
  ["a key by itself", { license: { key: "of-a-license" } }, "of-a-license"],
  ["a named key", { apiKeys: [{ name: "ci", key: "of-a-robot" }] }, "of-a-robot"],
  [
    "a login in a pull secret",
    { imagePullSecret: { name: "a", password: "of-a-registry" } },
    "of-a-registry",
  ],
  ["a password beside a reference", { dbRefs: [{ name: "a", password: "of-a-ref" }] }, "of-a-ref"],
  ["a variable", { extraEnvVars: [{ name: "DB_PASSWORD", value: "of-a-db" }] }, "of-a-db"],
  ["a variable that is a number", { env: [{ name: "A_TOKEN", value: 87654321 }] }, "87654321"],
  ["a flag", { extraArgs: ["--oidc-client-secret=of-a-flag"] }, "of-a-flag"],
  ["a flag with its value after it", { args: ["--oidc-client-secret", "of-a-word"] }, "of-a-word"],
  ["a password in a URL", { proxy: "http://me:of-a-proxy@proxy" }, "of-a-proxy"],
])("of Helm values, %s is a secret", (_, config, secret) => {
  expect(found(config)).toContain(secret);
});

test("the defaults of a chart may have secrets, as charts of a company do", () => {
  const values = { db: { password: "of-a-chart" } };
  expect(releaseValues(release({ chart: { values } }), new Set())).toContain("of-a-chart");
});

test.each([
  ["the defaults of Coder's chart", defaultValues.coder],
  ["the defaults of the provisioner's chart", defaultValues.provisioner],
  ["the name of a pull secret", { image: { pullSecrets: [{ name: "registry" }], pullSecret: "registry" } }],
  ["the name of a Secret", { tls: { secretName: "coder-tls", existingSecret: "coder-tls" } }],
  ["the name of a key", { auth: { secretKeys: { userPasswordKey: "password" } } }],
  ["the key of a daemon's key", { provisionerDaemon: { keySecretKey: "of-daemons" } }],
  ["a reference", { env: [{ name: "A", valueFrom: { secretKeyRef: { name: "own", key: "token-of-a" } } }] }],
  ["the key of a toleration", { tolerations: [{ key: "dedicated", effect: "NoSchedule" }] }],
  ["a topology", { spread: [{ topologyKey: "example.com/rack" }], one: { topologyKey: "hostname" } }],
  ["a key of a label", { tokenLabels: { any: "app.kubernetes.io/instance" } }],
  ["a flag without a value", { args: ["--token-less", "--verbose", "server"] }],
])("of Helm values, %s is not a secret", (_, config) => {
  expect(found(config)).toEqual([]);
});

test("the name or a key of an existing Secret in Helm values is not a secret, regardless of the field name", () => {
  const config = { databaseSecret: "coder-db", certs: { secrets: [{ name: "ca", key: "ca-bundle.crt" }] } };
  expect(found(config, ["coder-db", "ca-bundle.crt"])).toEqual([]);
});

test.each([null, 1, "text", [], { config: null, chart: null }])(
  "a release that is %j has no values",
  (content) => {
    expect(releaseValues(release(content), new Set())).toEqual([]);
  },
);
