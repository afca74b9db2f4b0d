import { controllerOf, type Kind, type KubeObject, Service, ServiceAccount } from "kube-controller-runtime";
import { expect, test } from "vitest";
import { openControlPlaneStage } from "./stage.ts";

const MOMENT_MS = 2_000;

test.each<readonly [string, Kind<KubeObject>]>([
  ["a ServiceAccount", ServiceAccount as Kind<KubeObject>],
  ["a Service", Service as Kind<KubeObject>],
])("%s that is handed over by its annotation, or deleted, ends the conflict at once", async (_, kind) => {
  await using stage = await openControlPlaneStage("hand-over");
  const { person } = stage;
  for (const name of ["given", "removed"])
    await person.create(kind, { metadata: stage.ref(name), spec: { ports: [{ port: 80 }] } } as KubeObject);
  const conflict = { status: "True", reason: `${kind.kind}NotOurs` } as const;
  for (const name of ["given", "removed"]) {
    await stage.create(name, {});
    await stage.untilCondition(name, "Conflict", conflict);
  }
  const before = stage.clock.now();
  const annotations = { "coder.com/adopt-by": "CoderControlPlane/given" };
  await person.mergePatch(kind, stage.ref("given"), { metadata: { annotations } });
  await person.delete(kind, stage.ref("removed"));
  for (const name of ["given", "removed"])
    await stage.eventually(async () => {
      const types = (await stage.status(name)).conditions?.map(({ type }) => type);
      expect(types).not.toContain("Conflict");
    });
  expect(stage.clock.now() - before).toBeLessThan(MOMENT_MS);
  expect(controllerOf(await person.get(kind, stage.ref("removed")))?.name).toBe("removed");
});
