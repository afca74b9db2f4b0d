import { Namespace, Secret } from "kube-controller-runtime";
import { expect, onTestFinished, test } from "vitest";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { type CoderdStage, openCoderdStage } from "../coderd/stage.ts";

async function openNamespace(): Promise<CoderdStage> {
  // One that is kept to some namespaces may not read them.
  const stage = await openCoderdStage({ operator: false });
  await stage.startOperator({ namespaces: [] });
  onTestFinished(() => stage[Symbol.asyncDispose]());
  const metadata = { name: stage.namespace, finalizers: ["example.com/content"] };
  await stage.person.create(Namespace, { ...Namespace, metadata } as Namespace);
  return stage;
}

test("keys and token end as soon as the namespace does, while Secrets and coderd are still there", async () => {
  const stage = await openNamespace();
  const coderd = await stage.coderd("coder");
  coderd.deployment.addLicense(fakeLicense({ now: stage.clock.now() }));
  await stage.serve("coder", coderd);
  await stage.untilReady("coder");
  await stage.person.create(CoderProvisioner, {
    ...CoderProvisioner,
    metadata: stage.ref("pool"),
    spec: { controlPlaneRef: { name: "coder" } },
  } as CoderProvisioner);
  await stage.eventually(() => expect(coderd.deployment.keys).toHaveLength(1));
  expect(await coderd.database.keys()).toHaveLength(1);
  await stage.untilIdle();
  const began = stage.clock.now();
  await stage.person.delete(Namespace, { name: stage.namespace });
  await stage.eventually(async () => {
    expect(coderd.deployment.keys).toEqual([]);
    expect(await coderd.database.keys()).toEqual([]);
  });
  expect(stage.clock.now() - began).toBeLessThan(10_000);
  await stage.untilIdle();
  // From now on, deletions with the namespace are final.
  const writes = stage.writes().length;
  await stage.person.delete(Secret, stage.ref("coder-operator-token"));
  await stage.timePasses(5 * 60_000);
  expect(stage.writes().slice(writes)).toEqual([]);
  await stage.delete(CoderProvisioner, "pool");
  await stage.delete(CoderControlPlane, "coder");
  await stage.untilGone(CoderControlPlane, "coder");
  expect(stage.operator.log.filter(({ level }) => level === "error" || level === "warn")).toEqual([]);
  expect(stage.counters.tokensLeftBehind).toBe(0);
});
