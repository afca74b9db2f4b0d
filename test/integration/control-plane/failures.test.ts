import {
  Deployment,
  Ingress,
  type Kind,
  Service,
  ServiceAccount,
  type TransportRequest,
} from "kube-controller-runtime";
import { answers, eventually, type Fault, times, when } from "kube-controller-runtime/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { openStage, type Stage } from "./stage.ts";

const TIME_LIMIT = { withinMs: 20_000 };
const spec = { expose: { ingress: { host: "coder.example.com" } } };

const brokenStorage = answers(
  500,
  {},
  JSON.stringify({ kind: "Status", code: 500, reason: "InternalError", message: "the storage is broken" }),
);

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

/** A write of a child. */
const writeOf = (plural: string, name: string) => (request: TransportRequest) =>
  request.method === "PATCH" && request.path.includes(`/${plural}/${name}`);

/** A write of the status of a control plane. */
const statusOf = (name: string) => (request: TransportRequest) =>
  request.path.includes(`/codercontrolplanes/${name}/status`);

/** What the operator logged when its runs of a control plane failed. */
function failuresOf(name: string): string[] {
  return stage.operator.log
    .filter(({ msg, object }) => msg.startsWith("run failed") && object === `${stage.namespace}/${name}`)
    .map(({ error }) => JSON.stringify(error));
}

function untilRetried(name: string): Promise<void> {
  return eventually(() => expect(failuresOf(name).length).toBeGreaterThan(2), TIME_LIMIT);
}

describe.each([
  ["serviceaccounts", "ServiceAccountReady"],
  ["roles", "WorkspaceRBACReady"],
  ["rolebindings", "WorkspaceRBACReady"],
  ["deployments", "DeploymentReady"],
  ["services", "ServiceReady"],
  ["ingresses", "ExposureReady"],
])("while writes of %s fail", (plural, condition) => {
  const name = `without-${plural}`;

  test("the error is kept, the status reports it, the rest is made, and all is well once they work", async () => {
    stage.operator.transport.fault = when(writeOf(plural, name), brokenStorage);
    await stage.create(name, spec);
    const reported = await stage.untilCondition(name, condition, {
      status: "False",
      reason: "ApiServerUnavailable",
    });
    expect(reported.message).toContain("the storage is broken");
    await stage.untilCondition(name, "Ready", { status: "False" });
    for (const kind of [ServiceAccount, Deployment, Service, Ingress] as Kind[]) {
      expect(await stage.exists(kind, name), kind.kind).toBe(kind.plural !== plural);
    }
    await untilRetried(name);
    expect(failuresOf(name).join()).toContain("the storage is broken");

    stage.operator.transport.fault = undefined;
    await stage.untilCondition(name, condition, {
      reason: plural === "deployments" ? "RollingOut" : "Applied",
    });
  });
});

describe("while writes of the status fail", () => {
  test("children are made, the run is repeated, and the status follows once they work", async () => {
    stage.operator.transport.fault = when(statusOf("mute"), brokenStorage);
    await stage.create("mute", spec);
    await eventually(async () => expect(await stage.exists(Ingress, "mute")).toBe(true), TIME_LIMIT);
    await untilRetried("mute");
    expect((await stage.controlPlane("mute")).status).toBeUndefined();
    stage.operator.transport.fault = undefined;
    expect((await stage.settled("mute")).status?.phase).toBe("Pending");
  });

  test("neither that error nor the one of a child hides the other", async () => {
    const either = (request: TransportRequest) =>
      statusOf("double")(request) || writeOf("services", "double")(request);
    stage.operator.transport.fault = when(either, brokenStorage);
    await stage.create("double");
    await untilRetried("double");
    const [first] = failuresOf("double");
    expect(first).toContain("apply Service");
    expect(first).toContain("patch CoderControlPlane");
    stage.operator.transport.fault = undefined;
    await stage.untilCondition("double", "ServiceReady", { status: "True" });
  });

  test("a conflict with somebody else's write is settled within the run", async () => {
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
