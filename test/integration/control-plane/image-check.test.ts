import { Deployment, Pod } from "kube-controller-runtime";
import { type ClusterAccess, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sharedClusterWithControllers } from "../../support/cluster/shared.ts";
import { imageChecks, pullImage } from "../../support/image-check.ts";
import { openStage, type Stage } from "./stage.ts";

/* Admission, quotas, Pod Security and the operator's role are real. No kubelet runs: the tests write what one reports. */

const OLD = "coder:v2.26.0";
const NEW = "coder:v2.36.1";
const RETRY_MS = 30_000;
const TIME_LIMIT = { withinMs: 30_000 };

let cluster: ClusterAccess;
const stages: Stage[] = [];
beforeAll(async () => {
  cluster = await sharedClusterWithControllers();
});
afterAll(() => Promise.all(stages.map((stage) => stage[Symbol.asyncDispose]())));

async function settle(prefix: string, spec: object = {}): Promise<Stage> {
  const stage = await openStage(cluster, prefix);
  stages.push(stage);
  await stage.create("coder", { image: OLD, operatorAccess: { disabled: true }, ...spec });
  await eventually(() => stage.get(Deployment, "coder"), TIME_LIMIT);
  await stage.untilStatus("coder", { image: OLD });
  return stage;
}

async function expectUnchanged(stage: Stage): Promise<void> {
  const { spec } = await stage.get(Deployment, "coder");
  expect(spec).toMatchObject({ replicas: 1, template: { spec: { containers: [{ image: OLD }] } } });
}

test("the pod that pulls the new image is made under the operator's role, and gone once it has ended", async () => {
  const stage = await settle("image-check");
  await stage.change("coder", { image: NEW });
  const { metadata, spec } = await pullImage(stage, "v2.36.1");
  expect(spec).toMatchObject({ restartPolicy: "Never", containers: [{ image: NEW }] });
  expect(metadata.ownerReferences).toMatchObject([{ kind: "CoderControlPlane", controller: true }]);
  await stage.untilStatus("coder", { upgrade: { imageVersion: "v2.36.1" } });
  await eventually(async () => expect(await imageChecks(stage)).toEqual([]), TIME_LIMIT);
  await stage.untilCondition("coder", "Upgrading", { status: "True", reason: "Migrating" });
});

test("an exhausted quota stops nothing, and a higher one allows the upgrade to continue", async () => {
  const stage = await settle("image-quota");
  const { namespace } = stage;
  const hard = { pods: "1" };
  const metadata = { name: "one", namespace };
  await cluster.apply({ apiVersion: "v1", kind: "ResourceQuota", metadata, spec: { hard } });
  // What the controller of quotas counts, which does not run here.
  const counted = JSON.stringify({ status: { hard, used: { pods: "1" } } });
  const patch = ["--subresource=status", "--type=merge", "-p", counted];
  await cluster.kubectl(["patch", "quota", "one", "-n", namespace, ...patch]);
  await stage.change("coder", { image: NEW });
  const { message } = await stage.untilCondition("coder", "Upgrading", {
    status: "False",
    reason: "ImageCheckBlocked",
  });
  expect(message).toContain("is rejected: exceeded quota: one, requested: pods=1, used: pods=1");
  await expectUnchanged(stage);
  await cluster.kubectl(["delete", "quota", "one", "-n", namespace]);
  await stage.timePasses(RETRY_MS);
  await pullImage(stage, "v2.36.1");
  await stage.untilCondition("coder", "Upgrading", { status: "True", reason: "Migrating" });
});

test("Pod Security takes it where it takes the pods of coderd, and its refusal stops nothing", async () => {
  const level = "pod-security.kubernetes.io/enforce=restricted";
  const restricted = {
    podSecurityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
  };
  const stage = await settle("image-restricted", restricted);
  await cluster.kubectl(["label", "namespace", stage.namespace, level]);
  await stage.change("coder", { image: NEW, securityContext: null });
  const { message } = await stage.untilCondition("coder", "Upgrading", {
    status: "False",
    reason: "ImageCheckBlocked",
  });
  expect(message).toContain('violates PodSecurity "restricted:latest"');
  await expectUnchanged(stage);
  await stage.change("coder", { securityContext: restricted.securityContext });
  await pullImage(stage, "v2.36.1");
  await stage.untilCondition("coder", "Upgrading", { status: "True", reason: "Migrating" });
  await eventually(async () => {
    const { items } = await stage.person.list(Pod, { namespace: stage.namespace });
    expect(items.map(({ spec }) => spec?.containers[0]?.image)).toEqual([NEW]);
  }, TIME_LIMIT);
});
