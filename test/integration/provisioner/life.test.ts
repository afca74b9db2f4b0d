import { Deployment, Role, RoleBinding, Secret, ServiceAccount } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { tagsHash } from "../../../src/operator/provisioner/key/record.ts";
import { keyChecksum } from "../../../src/operator/provisioner/key/secret.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { openStage, type ProvisionerStage } from "../../support/stages/provisioner.ts";
import { openRealWorld } from "../../support/world/real.ts";

let stage: ProvisionerStage;
let coderd: CoderdDeployment;
beforeAll(async () => {
  stage = await openStage(await openRealWorld(sharedCluster()), "life");
  coderd = await stage.controlPlane();
});
afterAll(() => stage[Symbol.asyncDispose]());

describe("a new provisioner", () => {
  const tags = { environment: "prod", cluster: "east" };

  test("gets a key with its tags, a Secret, permissions and daemons, and status says so", async () => {
    await stage.create("pool", { tags, replicas: 2 });
    await stage.rollOut("pool");
    const status = await stage.untilSettled("pool");

    const [key, ...others] = coderd.keys.filter(({ name }) => name.startsWith("pool"));
    expect(others).toEqual([]);
    expect(key).toMatchObject({ name: "pool", tags });
    expect(status).toMatchObject({
      phase: "Ready",
      readyReplicas: 2,
      organizationName: "default",
      organizationID: coderd.organizations[0]?.id,
      provisionerKeyName: "pool",
      provisionerKeyID: key?.id,
      tagsHash: tagsHash(tags),
      controlPlaneRefName: "coder",
      controlPlaneURL: stage.urlOf("coder"),
      secretRef: { name: "pool-provisioner-key", key: "key" },
      credentialsSecretRef: { name: "coder-operator-token", key: "token" },
    });
    expect(status.pendingKey).toBeUndefined();
    expect(status.retiredKeys).toBeUndefined();
    expect(await stage.keyIn("pool-provisioner-key")).toBe(key?.plaintext);
  });

  test("has one condition for each stage, all of them True", async () => {
    const { status } = await stage.get(CoderProvisioner, "pool");
    const conditions = status?.conditions?.map(({ type, status: state }) => [type, state]);
    expect(Object.fromEntries(conditions ?? [])).toEqual({
      ControlPlaneReady: "True",
      OperatorAccessReady: "True",
      ExternalProvisionersEntitled: "True",
      ProvisionerKeyReady: "True",
      ProvisionerKeySecretReady: "True",
      WorkspaceRBACReady: "True",
      DeploymentReady: "True",
      DaemonsConnected: "True",
      Available: "True",
      Ready: "True",
    });
  });

  test("runs daemons that the real ones' rules accept: a key, and neither organization nor tags", async () => {
    const { spec, metadata } = await stage.template("pool");
    const container = spec?.containers[0];
    expect(metadata?.annotations?.["checksum/provisioner-key"]).toBe(
      keyChecksum((await stage.keyIn("pool-provisioner-key")) ?? ""),
    );
    expect(container).toMatchObject({
      name: "provisioner",
      image: "ghcr.io/coder/coder:tests",
      command: ["/opt/coder"],
      args: ["provisionerd", "start"],
    });
    expect(container?.env?.map(({ name }) => name)).toEqual([
      "CODER_URL",
      "CODER_PROVISIONER_DAEMON_KEY",
      "CODER_PROVISIONER_DAEMON_NAME",
    ]);
    expect(container?.env?.[0]?.value).toBe(stage.urlOf("coder"));
  });

  test("owns all of its children", async () => {
    const { uid } = (await stage.get(CoderProvisioner, "pool")).metadata;
    const children = await Promise.all([
      stage.get(Secret, "pool-provisioner-key"),
      stage.get(ServiceAccount, "pool-provisioner"),
      stage.get(Role, "provisioner-pool"),
      stage.get(RoleBinding, "provisioner-pool"),
      stage.get(Deployment, "provisioner-pool"),
    ]);
    for (const { metadata } of children)
      expect(metadata.ownerReferences).toMatchObject([{ uid, controller: true }]);
  });

  test("emits an event when its key is made", async () => {
    const events = await stage.events("pool");
    const reported = events.map(({ reason }) => reason);
    expect(reported.filter((reason) => reason?.includes("Key"))).toEqual(["KeyCreated"]);
  });

  test("makes no requests once it is settled", async () => {
    await stage.untilIdle();
    const [requests, calls] = [stage.operator.transport.requests.length, coderd.calls.length];
    await stage.touch("pool", "look again");
    await stage.untilIdle();
    expect(stage.operator.transport.requests.slice(requests)).toEqual([]);
    expect(coderd.calls.slice(calls)).toEqual([]);
  });

  test("loses its key at coderd, and nothing else, when it is deleted", async () => {
    await stage.serve("bystander");
    await stage.person.delete(CoderProvisioner, stage.ref("pool"));
    await stage.untilGone(CoderProvisioner, "pool");
    expect(coderd.keys.map(({ name }) => name)).toEqual(["bystander"]);
  });
});
