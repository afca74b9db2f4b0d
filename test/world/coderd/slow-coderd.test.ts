import { Deployment } from "kube-controller-runtime";
import { expect, test } from "vitest";
import { StaticAccounts } from "../../../lab/coderd/accounts.ts";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { type CoderdStage, openCoderdStage } from "./stage.ts";

const names = Array.from({ length: 50 }, (_, index) => `other-${index}`);
const TOKEN = "slowcoderd-0123456789abcdefghijkl";

/** A coderd whose token is given: no database plays a part here. */
function coderd(stage: CoderdStage, name: string): CoderdDeployment {
  const accounts = new StaticAccounts();
  accounts.add(TOKEN, { owner: true });
  return stage.world.coderds.add({ accounts }, { host: `${name}.${stage.namespace}.svc.cluster.local` });
}

function create(stage: CoderdStage, name: string): Promise<unknown> {
  return stage.create(name, { operatorAccess: { tokenSecretRef: { name: "token" } } });
}

/** Makes control planes whose pods are ready as soon as they can be; the time until all have asked their coderd. */
async function converge(stage: CoderdStage): Promise<number> {
  const startedAt = stage.clock.now();
  for (const name of names) coderd(stage, name);
  for (const name of names) await create(stage, name);
  await stage.eventually(async () => {
    const { items } = await stage.person.list(Deployment, { namespace: stage.namespace });
    expect(items.filter(({ metadata }) => names.includes(metadata.name))).toHaveLength(names.length);
  });
  for (const name of names) await stage.untilServing(name);
  await stage.eventually(async () => {
    const { items } = await stage.person.list(CoderControlPlane, { namespace: stage.namespace });
    const done = items.filter(({ metadata, status }) => names.includes(metadata.name) && status?.licenseTier);
    expect(done).toHaveLength(names.length);
  });
  return stage.clock.now() - startedAt;
}

test("fifty control planes converge beside a coderd that stalls in the time that they need without it", async () => {
  await using alone = await openCoderdStage();
  await alone.putSecret("token", { token: TOKEN });
  const without = await converge(alone);

  await using beside = await openCoderdStage();
  await beside.putSecret("token", { token: TOKEN });
  const stalled = coderd(beside, "stalled");
  stalled.faults.inject({ fault: { kind: "stall" } });
  await create(beside, "stalled");
  await beside.untilServing("stalled");
  await beside.eventually(() => expect(stalled.count()).toBeGreaterThan(0));
  expect(await converge(beside)).toBeLessThanOrEqual(without + 1_000);
  expect((await beside.status("stalled")).licenseTier).toBeUndefined();
});
