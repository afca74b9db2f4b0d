import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { Deployment } from "../../../src/runtime/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { StaticAccounts } from "../../support/coderd/accounts.ts";
import type { CoderdDeployment } from "../../support/coderd/deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { type CoderdStage, openCoderdStage } from "./stage.ts";

const OTHERS = 50;
const POLL_MS = 100;
const TOKEN = "slowcoderd-0123456789abcdefghijkl";

let alone: CoderdStage;
let beside: CoderdStage;
beforeAll(async () => {
  const cluster = sharedCluster();
  [alone, beside] = await Promise.all([
    openCoderdStage(cluster, "alone"),
    openCoderdStage(cluster, "beside"),
  ]);
});
afterAll(() => Promise.all([alone?.[Symbol.asyncDispose](), beside?.[Symbol.asyncDispose]()]));

/** A coderd whose token is given: no database plays a part here. */
function coderd(stage: CoderdStage, name: string): CoderdDeployment {
  const accounts = new StaticAccounts();
  accounts.add(TOKEN, { owner: true });
  return stage.server.add({ accounts }, { host: `${name}.${stage.namespace}.svc.cluster.local` });
}

function create(stage: CoderdStage, name: string): Promise<unknown> {
  return stage.create(name, { operatorAccess: { tokenSecretRef: { name: "token" } } });
}

/** Makes control planes whose pods are ready as soon as they can be; the time until all have asked their coderd. */
async function converge(stage: CoderdStage, names: readonly string[]): Promise<number> {
  const startedAt = performance.now();
  await Promise.all(names.map((name) => create(stage, name)));
  const waiting = new Set(names);
  while (waiting.size > 0) {
    const { items } = await stage.person.list(Deployment, { namespace: stage.namespace });
    const there = items.map(({ metadata }) => metadata.name).filter((name) => waiting.delete(name));
    await Promise.all(there.map((name) => stage.cluster.markDeploymentReady(stage.namespace, name)));
    await sleep(POLL_MS);
  }
  await eventually(
    async () => {
      const { items } = await stage.person.list(CoderControlPlane, { namespace: stage.namespace });
      const done = items.filter(
        ({ metadata, status }) => names.includes(metadata.name) && status?.licenseTier,
      );
      expect(done).toHaveLength(names.length);
    },
    { withinMs: 60_000 },
  );
  return performance.now() - startedAt;
}

test("fifty control planes converge beside a coderd that stalls as they do without it", {
  timeout: 120_000,
}, async () => {
  await Promise.all([
    alone.putSecret("token", { token: TOKEN }),
    beside.putSecret("token", { token: TOKEN }),
  ]);
  const stalled = coderd(beside, "stalled");
  stalled.faults.inject({ fault: { kind: "stall" } });
  await create(beside, "stalled");
  await beside.untilServing("stalled");
  await eventually(() => expect(stalled.count()).toBeGreaterThan(0), { withinMs: 20_000 });

  const names = Array.from({ length: OTHERS }, (_, index) => `other-${index}`);
  for (const stage of [alone, beside]) for (const name of names) coderd(stage, name);
  const [without, withStalled] = await Promise.all([converge(alone, names), converge(beside, names)]);
  expect(withStalled).toBeLessThan(1.5 * without + 2_000);
  const { status } = await beside.controlPlane("stalled");
  expect(status?.licenseTier).toBeUndefined();
});
