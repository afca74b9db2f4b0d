import { stored } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import { snapshotOf } from "../../../test/support/workspace-proxy-snapshot.ts";
import type { CoderWorkspaceProxy } from "../../api/v1alpha1/kinds.ts";
import type { WorkspaceProxySpec } from "../../api/v1alpha1/workspace-proxy.ts";
import type { CoderTarget } from "../../coder/clients.ts";
import { readCredentials } from "./credentials.ts";
import type { Environment } from "./observe.ts";

const url = "https://coder.example.com";
const spec: WorkspaceProxySpec = {
  bootstrap: { coderURL: url, credentialsSecretRef: { name: "owner" } },
  certs: { secrets: [{ name: "company-ca", key: "ca.crt" }] },
};

/** Reads the credentials with the given Secrets, and returns which client was requested. */
async function read(secrets: Record<string, Record<string, string>>) {
  const targets: CoderTarget[] = [];
  const encoded = Object.entries(secrets).map(([name, values]) => {
    const data = Object.entries(values).map(([key, value]) => [key, btoa(value)]);
    return [name, { data: Object.fromEntries(data) }];
  });
  const ports = { coderd: { client: (target: CoderTarget) => targets.push(target) } };
  const snapshot = snapshotOf(stored<CoderWorkspaceProxy>({ spec }), Object.fromEntries(encoded));
  const coderd = { url, accessURL: url, image: "" };
  const result = await readCredentials(snapshot, { ports } as unknown as Environment, coderd);
  return { result, targets };
}

test("a coderd with a given URL is called with the given token, and verified with the proxy's certificates", async () => {
  const { result, targets } = await read({
    owner: { token: " secret \n" },
    "company-ca": { "ca.crt": "PEM" },
  });
  expect(result).toMatchObject({ condition: { status: "True" }, value: { kind: "session" } });
  expect(targets).toEqual([{ url, token: "secret", ca: "PEM" }]);
});

test("another token, or other certificates, make earlier answers worthless", async () => {
  const fingerprint = async (secrets: Record<string, Record<string, string>>) =>
    ((await read(secrets)).result.value as { fingerprint: string }).fingerprint;
  const ca = { "company-ca": { "ca.crt": "PEM" } };
  const first = await fingerprint({ owner: { token: "one" }, ...ca });
  expect(await fingerprint({ owner: { token: "one" }, ...ca })).toBe(first);
  expect(await fingerprint({ owner: { token: "two" }, ...ca })).not.toBe(first);
  expect(await fingerprint({ owner: { token: "one" } })).not.toBe(first);
});

test("a Secret without a token opens nothing", async () => {
  const { result, targets } = await read({ owner: { token: " " } });
  expect(result).toMatchObject({ condition: { status: "False", reason: "SecretMissing" } });
  expect(result.value).toBeUndefined();
  expect(targets).toEqual([]);
});
