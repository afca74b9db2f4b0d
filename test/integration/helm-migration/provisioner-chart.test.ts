import { Deployment, ServiceAccount } from "kube-controller-runtime";
import { describe, expect, test } from "vitest";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { helmFor, succeeded } from "../../support/helm.ts";
import { openStage } from "../../support/stages/provisioner.ts";
import { openRealWorld } from "../../support/world/real.ts";
import { installerOfCharts } from "./charts.ts";

const install = installerOfCharts();

describe("moving provisioners from Coder's chart", () => {
  test("a ServiceAccount of the chart is not changed until its release is gone", async () => {
    const cluster = sharedCluster();
    await using helm = await helmFor(cluster);
    await using stage = await openStage(await openRealWorld(cluster), "pools-from-helm");
    await stage.controlPlane();
    const { namespace } = stage;
    const values = {
      coder: { image: { tag: "v2.26.0" } },
      provisionerDaemon: { keySecretName: "old-key", keySecretKey: "key" },
    };
    await install(helm, { name: "coder-provisioner", chart: "provisioner", namespace, values });
    const before = await stage.get(ServiceAccount, "coder-provisioner");
    await stage.create("coder");
    const { message } = await stage.untilCondition("coder", "Conflict", { reason: "ServiceAccountNotOurs" });
    expect(message).toContain('Helm release "coder-provisioner"');
    expect(await stage.get(ServiceAccount, "coder-provisioner")).toEqual(before);
    expect(await stage.exists(Deployment, "provisioner-coder")).toBe(false);
    await stage.serve("general");
    succeeded(await helm.run(["uninstall", "coder-provisioner", "--namespace", namespace]));
    await stage.timePasses(30_000);
    await stage.rollOut("coder");
    await stage.untilSettled("coder");
    await stage.assertSettled("general");
  });
});
