import { Deployment, explain } from "kube-controller-runtime";
import { eventually, type Fault, times, when } from "kube-controller-runtime/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { failedRunsOf, statusOf, writeOf } from "../../support/failed-runs.ts";
import { openStage, type Stage } from "./stage.ts";

const TIME_LIMIT = { withinMs: 20_000 };
const spec = { expose: { ingress: { host: "coder.example.com" } } };

/** The server does what it is asked, but its answer is lost. */
const answerLost: Fault = async (_request, pass) => {
  await pass();
  throw new Error("other side closed");
};

let stage: Stage;
beforeAll(async () => {
  stage = await openStage(sharedCluster(), "failures");
});
afterEach(() => {
  stage.operator.transport.fault = undefined;
});
afterAll(() => stage[Symbol.asyncDispose]());

const failuresOf = (name: string) => failedRunsOf(stage, name);

test("a conflict of the status with another client's write is resolved within the run", async () => {
  const meddle: Fault = async (_request, pass) => {
    const metadata = { labels: { touched: "yes" } };
    await stage.person.mergePatch(CoderControlPlane, stage.ref("busy"), { metadata });
    return pass();
  };
  stage.operator.transport.fault = when(statusOf("busy"), times(1, meddle));
  await stage.create("busy");
  await stage.settled("busy");
  expect(failuresOf("busy")).toEqual([]);
  const conflicts = (await stage.writes()).filter(({ name, code }) => name === "busy" && code === 409);
  expect(conflicts).toHaveLength(1);
});

test("writes that took effect but whose answer was lost are not made twice", async () => {
  const plurals = ["serviceaccounts", "roles", "rolebindings", "deployments", "services", "ingresses"];
  const unheard = new Set(plurals);
  stage.operator.transport.fault = when((request) => {
    const written = plurals.find((plural) => writeOf(plural, "unheard")(request));
    return written !== undefined && unheard.delete(written);
  }, answerLost);
  await stage.create("unheard", spec);
  await stage.untilCondition("unheard", "ExposureReady", { status: "True" });
  expect(unheard).toEqual(new Set());
  const { metadata } = await stage.get(Deployment, "unheard");
  expect(metadata.generation).toBe(1);
});

test("a child that an admission policy forbids is reported in the policy's words and made once it may be", async () => {
  const policy = denyServices(stage.namespace, "forbidden");
  await stage.cluster.apply(policy);
  const dryRun = ["create", "service", "clusterip", "forbidden", "--tcp=80", "--dry-run=server"];
  await eventually(async () => {
    const { stderr } = await stage.cluster.kubectl([...dryRun, "-n", stage.namespace]);
    expect(stderr).toContain("no Service today");
  }, TIME_LIMIT);
  await stage.create("forbidden");
  const { message } = await stage.untilCondition("forbidden", "ServiceReady", { status: "False" });
  expect(message).toContain("no Service today");
  await stage.cluster.kubectl(["delete", "-f", "-"], JSON.stringify(policy));
  await stage.untilCondition("forbidden", "ServiceReady", { status: "True" });
});

/** A policy, and its binding to one namespace, against Services of a name. */
function denyServices(namespace: string, name: string): object {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const rule = {
    apiGroups: [""],
    apiVersions: ["v1"],
    operations: ["CREATE", "UPDATE"],
    resources: ["services"],
  };
  const policy = {
    apiVersion,
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: namespace },
    spec: {
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: `object.metadata.name != "${name}"`, message: "no Service today" }],
    },
  };
  const binding = {
    apiVersion,
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name: namespace },
    spec: {
      policyName: namespace,
      validationActions: ["Deny"],
      matchResources: { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } },
    },
  };
  return { apiVersion: "v1", kind: "List", items: [policy, binding] };
}

test("an apply with the same entry twice, which the API server answers with 500, is taken for invalid", async () => {
  const volumes = [{ name: "a", emptyDir: {} }, { name: "a" }];
  const template = {
    metadata: { labels: { app: "twice" } },
    spec: { containers: [{ name: "c", image: "example.invalid/c:1" }], volumes },
  };
  const spec = { selector: { matchLabels: { app: "twice" } }, template };
  const metadata = stage.ref("twice");
  const applying = stage.person.apply(Deployment, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata,
    spec,
  });
  const error = await applying.catch((thrown: unknown) => thrown);
  expect(explain(error)).toMatchObject({ reason: "Invalid", message: expect.stringContaining("volumes") });
});
