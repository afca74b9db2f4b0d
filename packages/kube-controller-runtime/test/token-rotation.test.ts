import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, ConfigMap, Role, RoleBinding, Secret, ServiceAccount } from "kube-controller-runtime";
import { adminClient, apiObject, apiRequest, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sharedCluster } from "../../../test/support/cluster/shared.ts";
import { type FaultProxy, startFaultProxy } from "../../../test/support/fault-proxy.ts";
import { ObservedCache } from "./faults/observed-cache.ts";

/** The API server caches a verified token for ten seconds. */
const untilForgotten = { withinMs: 30_000 };
const soon = { withinMs: 20_000 };

const cluster = sharedCluster();
let admin: Client;
let proxy: FaultProxy;
let namespace: string;
const dir = mkdtempSync(join(tmpdir(), "runtime-token-"));
const tokenFile = join(dir, "token");

beforeAll(async () => {
  admin = await adminClient(cluster);
  proxy = await startFaultProxy(cluster);
  namespace = await cluster.createNamespace("token");
  const subject = { kind: "ServiceAccount", namespace, name: "reader" };
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" };
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] }];
  await admin.create(ServiceAccount, { metadata: { namespace, name: "reader" } });
  await admin.create(Role, { metadata: { namespace, name: "reader" }, rules });
  await admin.create(RoleBinding, { metadata: { namespace, name: "reader" }, roleRef, subjects: [subject] });
});
afterAll(async () => {
  rmSync(dir, { recursive: true });
  await proxy?.[Symbol.asyncDispose]();
});

/** A token that is valid as long as the Secret of its name exists. */
async function issueToken(name: string): Promise<string> {
  const { metadata } = await admin.create(Secret, { metadata: { namespace, name } });
  const boundObjectRef = { apiVersion: "v1", kind: "Secret", name, uid: metadata.uid };
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { boundObjectRef } };
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/reader/token`;
  const endpoint = { server: cluster.server, caFile: cluster.caFile, token: cluster.admin.token };
  const { status } = await apiObject<{ status: { token: string } }>(endpoint, { method: "POST", path, body });
  return status.token;
}

async function isRefused(token: string): Promise<boolean> {
  const { server, caFile } = cluster;
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  return (await apiRequest({ server, caFile, token }, { method: "GET", path })).status === 401;
}

const write = (name: string) =>
  admin.create(ConfigMap, { metadata: { namespace, name, labels: { load: "yes" } } });

test("a cache continues with the new token of its file when the old one is rejected", async () => {
  const old = await issueToken("first");
  writeFileSync(tokenFile, old, { mode: 0o600 });
  const user = { tokenFile };
  await using observed = await ObservedCache.start(proxy.kubeconfig(user), namespace);
  await write("before");
  await eventually(() => expect(observed.cache.get(`${namespace}/before`)).toBeDefined(), soon);

  writeFileSync(tokenFile, `${await issueToken("second")}\n`, { mode: 0o600 });
  await admin.delete(Secret, { namespace, name: "first" });
  await eventually(async () => expect(await isRefused(old)).toBe(true), untilForgotten);
  proxy.disconnect();
  await write("after");
  await eventually(() => expect(observed.cache.get(`${namespace}/after`)).toBeDefined(), soon);
  const statuses = proxy.requests.map(({ status }) => status);
  // None if the file was read again before the API server rejected the old token.
  expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(1);
  expect(statuses.at(-1)).toBe(200);
  expect(statuses.length).toBeLessThan(30);
  observed.expectOrder();
});
