import type { TransportRequest } from "kube-controller-runtime";
import { offline, when } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Injection } from "../../../lab/coderd/faults.ts";
import { CoderWorkspaceProxy } from "../../../src/api/v1alpha1/kinds.ts";
import { bootstrap, openProxyStage, type ProxyStage } from "../../support/stages/workspace-proxy.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

/*
 * A crash is played by cutting the process off at one point, for good, and starting another: what the first knew
 * is lost, and what it had done outside is not.
 */

let stage: ProxyStage;
beforeAll(async () => {
  stage = await openProxyStage(new MemoryWorld(), "crash");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

interface Crash {
  readonly name: string;
  /** The answer that never comes from coderd. */
  readonly coderd?: Injection;
  /** The request that never reaches the API server. */
  readonly kubernetes?: (request: TransportRequest) => boolean;
  /** Whether it has come to this point. */
  readonly reached: { readonly records: number; readonly claimed: boolean };
}

const POST = "POST /api/v2/workspaceproxies";
const cut = { kind: "cut" } as const;
const writesSecret = ({ path, body }: TransportRequest) =>
  path.includes("/secrets/") && /"token":"[^"]/.test(body ?? "");
const notesClaim = ({ path, body }: TransportRequest) =>
  path.includes("/status") && (body ?? "").includes('"proxyName"');
const notesId = ({ path, body }: TransportRequest) =>
  path.includes("/status") && (body ?? "").includes('"registered":true');

const crashes: readonly Crash[] = [
  { name: "before-the-claim", kubernetes: notesClaim, reached: { records: 0, claimed: false } },
  { name: "before-coderd", coderd: { fault: cut, on: POST }, reached: { records: 0, claimed: true } },
  {
    name: "after-coderd",
    coderd: { fault: cut, on: POST, afterEffect: true },
    reached: { records: 1, claimed: true },
  },
  { name: "before-the-secret", kubernetes: writesSecret, reached: { records: 1, claimed: true } },
  { name: "before-the-id", kubernetes: notesId, reached: { records: 1, claimed: true } },
];

test.each(crashes)("a registration that ends $name is completed, with one record", async (crash) => {
  const { name, reached } = crash;
  const coderd = await stage.coderd(name);
  const end = crash.coderd && coderd.deployment.faults.inject(crash.coderd);
  stage.operator.transport.fault = crash.kubernetes && when(crash.kubernetes, offline);
  await stage.create(name, bootstrap(coderd));
  await stage.eventually(async () => {
    expect(coderd.deployment.proxies).toHaveLength(reached.records);
    expect((await stage.status(name)).proxyName).toBe(reached.claimed ? name : undefined);
    if (!reached.claimed) expect(stage.operator.transport.requests.some(notesClaim)).toBe(true);
  });
  end?.();
  await stage.restart();
  const token = await stage.untilTokenWorks(coderd, `${name}-proxy-token`);
  const { proxyID } = await stage.untilRegistered(name);
  expect(coderd.deployment.proxies).toMatchObject([{ id: proxyID, name, token }]);
  expect(coderd.deployment.proxies).toHaveLength(1);
});

const regenerations: readonly Pick<Crash, "name" | "coderd" | "kubernetes">[] = [
  { name: "regenerated-before-coderd", coderd: { fault: cut, on: /^PATCH / } },
  { name: "regenerated-after-coderd", coderd: { fault: cut, on: /^PATCH /, afterEffect: true } },
  { name: "regenerated-before-the-secret", kubernetes: writesSecret },
];

test.each(regenerations)(
  "a lost token that is $name is made again",
  async ({ name, coderd: fault, kubernetes }) => {
    const coderd = await stage.coderd(name);
    await stage.create(name, bootstrap(coderd));
    const secret = `${name}-proxy-token`;
    const before = await stage.untilTokenWorks(coderd, secret);
    const { proxyID } = await stage.untilRegistered(name);
    const end = fault && coderd.deployment.faults.inject(fault);
    stage.operator.transport.fault = kubernetes && when(kubernetes, offline);
    await stage.putToken(secret, "");
    await stage.eventually(() => expect(coderd.deployment.count(/^PATCH /)).toBeGreaterThan(0));
    end?.();
    await stage.restart();
    const token = await stage.untilTokenWorks(coderd, secret);
    expect(token).not.toBe(before);
    expect(coderd.deployment.proxies).toMatchObject([{ id: proxyID, token }]);
  },
);

test("a deletion that ends after the request to coderd is completed", async () => {
  const coderd = await stage.coderd("deleted");
  await stage.create("deleted", bootstrap(coderd));
  await stage.untilRegistered("deleted");
  const removesFinalizer = ({ method, path, body }: TransportRequest) =>
    method === "PATCH" &&
    path.includes("/coderworkspaceproxies/deleted") &&
    (body ?? "").includes('"finalizers":[]');
  stage.operator.transport.fault = when(removesFinalizer, offline);
  await stage.delete(CoderWorkspaceProxy, "deleted");
  await stage.eventually(() => expect(coderd.deployment.proxies).toEqual([]));
  await stage.restart();
  await stage.untilGone(CoderWorkspaceProxy, "deleted");
});
