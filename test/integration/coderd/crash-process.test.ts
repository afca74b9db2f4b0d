import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { acceptedAs } from "../../../lab/coderd-database/database.ts";
import { type OperatorProcess, startOperatorProcess } from "../../../lab/operator-process.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { type CoderdStage, openCoderdStage } from "./stage.ts";

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage(sharedCluster(), "killed", { operator: false });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const UPLOAD = "POST /api/v2/licenses";
const TIME_LIMIT = { withinMs: 30_000 };

function start(): Promise<OperatorProcess> {
  return startOperatorProcess(stage.world.cluster, [
    `--namespaces=${stage.namespace}`,
    `--coderd-access=${stage.world.server.url}`,
    "--no-leader-elect",
    "--log-level=debug",
  ]);
}

async function expectNoLeak(operator: OperatorProcess): Promise<void> {
  expect(stage.secrets.foundIn(JSON.stringify(operator.log))).toEqual([]);
  expect(stage.secrets.foundIn(await operator.metrics())).toEqual([]);
}

test("the real process, killed while coderd delays its response to the license, leaves one of each", async () => {
  const coderd = await stage.coderd("coder");
  const { database, deployment } = coderd;
  deployment.faults.inject({ fault: { kind: "stall" }, on: UPLOAD, afterEffect: true, times: 1 });
  await stage.putSecret("license", { license: fakeLicense() });

  await using first = await start();
  await stage.serve("coder", coderd, { licenseSecretRef: { name: "license" } });
  await eventually(() => expect(deployment.licenses).toHaveLength(1), TIME_LIMIT);
  const token = await stage.token("coder-operator-token");
  stage.secrets.add(token);
  await expectNoLeak(first);
  await first.stop("SIGKILL");
  expect((await stage.controlPlane("coder")).status?.licenseLastAppliedHash).toBeUndefined();

  await using second = await start();
  await stage.untilStatus("coder", { licenseTier: "premium", operatorAccessReady: true });
  await stage.untilCondition("coder", "LicenseApplied", { status: "True", reason: "Applied" });
  await expectNoLeak(second);
  expect(await stage.token("coder-operator-token")).toBe(token);
  expect(await acceptedAs(database, token, stage.clock.now())).toBe("coder-k8s-operator (owner)");
  expect(await database.keys()).toHaveLength(1);
  expect(deployment.licenses).toHaveLength(1);
});
