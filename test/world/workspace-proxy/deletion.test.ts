import { Secret } from "kube-controller-runtime";
import { offline, when } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Fault } from "../../../lab/coderd/faults.ts";
import { CoderControlPlane, CoderWorkspaceProxy } from "../../../src/api/v1alpha1/kinds.ts";
import {
  bootstrap,
  type Coderd,
  openProxyStage,
  type ProxyStage,
} from "../../support/stages/workspace-proxy.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let stage: ProxyStage;
beforeAll(async () => {
  stage = await openProxyStage(new MemoryWorld(), "deletion");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

async function registered(name: string): Promise<Coderd> {
  const coderd = await stage.coderd(name);
  await stage.create(name, bootstrap(coderd));
  await stage.untilRegistered(name);
  return coderd;
}

async function remove(name: string): Promise<void> {
  await stage.delete(CoderWorkspaceProxy, name);
  await stage.untilGone(CoderWorkspaceProxy, name);
}

test("a deleted proxy is taken off coderd's list", async () => {
  const coderd = await registered("plain");
  await remove("plain");
  expect(coderd.deployment.proxies).toEqual([]);
  expect(await stage.untilEvent("plain", "Deregistered")).toContain(coderd.url);
});

test("one that coderd has lost already is gone for good", async () => {
  const coderd = await registered("lost");
  coderd.deployment.proxies = [];
  await remove("lost");
  await stage.untilEvent("lost", "Deregistered");
});

test("one that was never registered costs no request", async () => {
  const coderd = await stage.coderd("never");
  await stage.delete(Secret, coderd.credentials);
  await stage.create("never", bootstrap(coderd));
  await stage.untilCondition("never", "CredentialsReady", { status: "False" });
  await remove("never");
  expect(coderd.deployment.count()).toBe(0);
});

test("a proxy of the same name that is not ours is left alone", async () => {
  const coderd = await stage.coderd("theirs");
  await stage.create("theirs", bootstrap(coderd));
  await stage.untilRegistered("theirs");
  await stage.create("clash", bootstrap(coderd, { proxyName: "theirs" }));
  await stage.untilCondition("clash", "Registered", { reason: "ProxyNameTaken" });
  await remove("clash");
  expect(coderd.deployment.proxies).toMatchObject([{ name: "theirs" }]);
});

test("one whose registration was interrupted is taken off the list, too", async () => {
  const coderd = await stage.coderd("halfway");
  const cut = { fault: { kind: "cut" }, on: "POST /api/v2/workspaceproxies", afterEffect: true } as const;
  coderd.deployment.faults.inject(cut);
  await stage.create("halfway", bootstrap(coderd));
  await stage.untilCondition("halfway", "Registered", { reason: "CoderdUnreachable" });
  expect(coderd.deployment.proxies).toHaveLength(1);
  await remove("halfway");
  expect(coderd.deployment.proxies).toEqual([]);
});

describe("nothing holds up a deletion; an event names what is left", () => {
  test.each<[string, Fault]>([
    ["cut", { kind: "cut" }],
    ["html", { kind: "html" }],
    ["limited", { kind: "rateLimited", retryAfter: "3600" }],
    ["failing", { kind: "answer", status: 500, body: { message: "Internal error." } }],
    [
      "unlicensed",
      { kind: "answer", status: 403, body: { message: "Workspace Proxy is a Premium feature." } },
    ],
    ["signed-out", { kind: "answer", status: 401, body: { message: "You are signed out." } }],
    ["stalled", { kind: "stall" }],
  ])("coderd: %s", async (name, fault) => {
    const coderd = await registered(name);
    coderd.deployment.faults.inject({ fault });
    await remove(name);
    const message = await stage.untilEvent(name, "NotDeregistered");
    expect(message).toContain(`"${name}" remains registered at ${coderd.url}; delete it manually`);
  });

  test("credentials that are gone after a restart", async () => {
    const coderd = await registered("keyless");
    await stage.delete(Secret, coderd.credentials);
    await stage.restart();
    await remove("keyless");
    expect(await stage.untilEvent("keyless", "NotDeregistered")).toContain(coderd.credentials);
  });

  test("a control plane that is gone after a restart", async () => {
    await stage.controlPlane("gone");
    await stage.create("orphan", { controlPlaneRef: { name: "gone" } });
    await stage.untilRegistered("orphan");
    await stage.delete(CoderControlPlane, "gone");
    await stage.untilGone(CoderControlPlane, "gone");
    await stage.restart();
    await remove("orphan");
    expect(await stage.untilEvent("orphan", "NotDeregistered")).toContain('CoderControlPlane "gone"');
  });
});

test("credentials that are deleted together with the proxy are still used", async () => {
  const coderd = await registered("together");
  await stage.delete(Secret, coderd.credentials);
  await stage.untilCondition("together", "CredentialsReady", { status: "False", reason: "SecretMissing" });
  await remove("together");
  expect(coderd.deployment.proxies).toEqual([]);
});

test("an API server that can't be asked for the credentials delays the deletion, and nothing is left", async () => {
  const coderd = await registered("delayed");
  await stage.restart();
  await stage.untilRegistered("delayed");
  const readsSecret = ({ method, path }: { method: string; path: string }) =>
    method === "GET" && path.endsWith(`/secrets/${coderd.credentials}`);
  const { requests } = stage.operator.transport;
  const SOON = { withinMs: 10_000 };
  const expectReadsAfter = (count: number) => expect(requests.slice(count).some(readsSecret)).toBe(true);
  stage.operator.transport.fault = when(readsSecret, offline);
  const before = requests.length;
  let changes = 0;
  await stage.eventually(async () => {
    // A read that was on its way already may bring the first change along.
    const label = { metadata: { labels: { changed: `${++changes}` } } };
    await stage.person.mergePatch(Secret, stage.ref(coderd.credentials), label);
    expectReadsAfter(before);
  }, SOON);
  const beforeDeletion = requests.length;
  await stage.delete(CoderWorkspaceProxy, "delayed");
  await stage.eventually(() => expectReadsAfter(beforeDeletion), SOON);
  expect((await stage.get(CoderWorkspaceProxy, "delayed")).metadata.deletionTimestamp).toBeDefined();
  stage.operator.transport.fault = undefined;
  await stage.untilGone(CoderWorkspaceProxy, "delayed");
  expect(coderd.deployment.proxies).toEqual([]);
});
