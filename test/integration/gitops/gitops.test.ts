import { readFileSync } from "node:fs";
import type { Kind } from "kube-controller-runtime";
import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { argoHealth } from "../../support/argo-health.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { type Case, cases } from "./cases.ts";
import { type Changes, conditions, type KindName, kinds, type Reporting } from "./objects.ts";

const guide = readFileSync(new URL("../../../docs/gitops.md", import.meta.url), "utf8");
const [argocdConfig, kustomization] = [...guide.matchAll(/```yaml\n(.*?)```/gs)].map(([, text]) =>
  parse(text ?? ""),
);
const named = cases.map((one) => ({ ...one, name: describeCase(one) }));

/** Like "controlPlane with LicenseApplied Forbidden". */
function describeCase({ kind, changes }: Case): string {
  const reported = Object.entries(changes).map(([type, [, reason]]) => `${type} ${reason}`);
  return `a ${kind} with ${reported.join(" and ") || "nothing amiss"}`;
}

const observed = (name: KindName, changes: Changes) => ({
  metadata: { generation: 3 },
  status: { observedGeneration: 3, conditions: conditions(name, changes) },
});

describe("Argo CD", () => {
  test.for(named)("$name", async ({ kind, changes, argo, reported }) => {
    const object = observed(kind, changes);
    const message = object.status.conditions.find(({ type }) => type === reported)?.message;
    expect(await argoHealth(kinds[kind].kind, object)).toEqual({ status: argo, message });
  });

  test.for<[string, object]>([
    ["an object without a status", { metadata: { generation: 1 } }],
    ["an object with an empty status", { metadata: { generation: 1 }, status: {} }],
    [
      "an object with a status of an older spec",
      { ...observed("controlPlane", {}), metadata: { generation: 4 } },
    ],
    [
      "an object that is being deleted",
      {
        ...observed("controlPlane", {}),
        metadata: { generation: 3, deletionTimestamp: "2026-01-01T00:00:00Z" },
      },
    ],
  ])("%s is progressing", async ([, object]) => {
    expect(await argoHealth(kinds.controlPlane.kind, object)).toMatchObject({ status: "Progressing" });
  });

  test.for(Object.keys(kinds) as KindName[])("no normal start of a %s looks broken", async (name) => {
    const { quietReasons, part }: Reporting = kinds[name];
    // The others are reasons of operator access, of what is well, of names that a person must free, and of advice that
    // Ready does not depend on.
    const others = ["Disabled", "NotMigrated", "Applied", "Completed", "NamesTaken", "TagMoves"];
    const reasons = [...quietReasons].filter((reason) => !others.includes(reason));
    for (const reason of reasons) {
      const object = observed(name, { [part]: ["False", reason] });
      expect((await argoHealth(kinds[name].kind, object)).status, reason).not.toBe("Degraded");
    }
  });
});

/** The health checks that Flux gets for each kind. */
interface HealthCheck {
  readonly apiVersion: string;
  readonly kind: string;
  readonly inProgress: string;
  readonly failed: string;
  readonly current: string;
}

describe("Flux", () => {
  const cluster = sharedCluster();
  const checks: readonly HealthCheck[] = kustomization.spec.healthCheckExprs;
  const policies = checks.map(({ kind }) => `health-of-${kind.toLowerCase()}`);
  let namespace: string;

  /** The API server's own CEL evaluates the expressions, in a policy that refuses with their result. */
  beforeAll(async () => {
    namespace = await cluster.createNamespace("flux");
    const manifests = checks.flatMap((check, index) => [
      policyFor(check, policies[index] ?? ""),
      bindingFor(policies[index] ?? "", namespace),
      anyOf(check, namespace),
    ]);
    await cluster.apply({ apiVersion: "v1", kind: "List", items: manifests });
    const inForce = (name: KindName) => eventually(() => fluxHealth(name, nothingSaid), { withinMs: 30_000 });
    await Promise.all((Object.keys(kinds) as KindName[]).map(inForce));
  });
  afterAll(async () => {
    await cluster.kubectl(["delete", "validatingadmissionpolicy", ...policies]);
    await cluster.kubectl(["delete", "validatingadmissionpolicybinding", ...policies]);
  });

  const nothingSaid = { phase: "Pending" };

  async function fluxHealth(name: KindName, status: object): Promise<string> {
    const object = [kinds[name].kind.kind, "any", "-n", namespace, "--subresource=status"];
    const patch = ["--dry-run=server", "--type=merge", "-p", JSON.stringify({ status })];
    const { stderr } = await cluster.kubectl(["patch", ...object, ...patch]);
    const [, health] = /denied request: (InProgress|Failed|Current)/.exec(stderr) ?? [];
    if (!health) throw new Error(`the policy did not answer: ${stderr}`);
    return health;
  }

  test.for(named)("$name", async ({ kind, changes, flux }) => {
    expect(await fluxHealth(kind, observed(kind, changes).status)).toBe(flux);
  });

  test("an object about which nothing was said yet is in progress", async () => {
    expect(await fluxHealth("controlPlane", nothingSaid)).toBe("InProgress");
  });
});

function policyFor({ apiVersion, kind, inProgress, failed, current }: HealthCheck, name: string): object {
  const [apiGroup, version] = apiVersion.split("/");
  const { plural } = kindCalled(kind);
  const rule = {
    apiGroups: [apiGroup],
    apiVersions: [version],
    operations: ["UPDATE"],
    resources: [`${plural}/status`],
  };
  // In the order in which Flux asks. It makes the object's fields variables; here a list of one status names it.
  const health = `(${inProgress}) ? 'InProgress' : (${failed}) ? 'Failed' : (${current}) ? 'Current' : 'InProgress'`;
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name },
    spec: {
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: "false", messageExpression: `[object.status].map(status, ${health})[0]` }],
    },
  };
}

function kindCalled(name: string): Kind {
  const found = Object.values(kinds).find(({ kind }) => kind.kind === name);
  if (!found) throw new Error(`there is no kind ${name}`);
  return found.kind;
}

function bindingFor(policyName: string, namespace: string): object {
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name: policyName },
    spec: { policyName, validationActions: ["Deny"], matchResources: { namespaceSelector } },
  };
}

function anyOf({ apiVersion, kind }: HealthCheck, namespace: string): object {
  const spec = kind === "CoderControlPlane" ? {} : { controlPlaneRef: { name: "any" } };
  return { apiVersion, kind, metadata: { name: "any", namespace }, spec };
}

test("both guides cover every kind", () => {
  const all = Object.values(kinds).map(({ kind }) => kind.kind);
  expect(Object.keys(argocdConfig.data)).toEqual(
    all.map((kind) => `resource.customizations.health.coder.com_${kind}`),
  );
  expect(kustomization.spec.healthCheckExprs.map(({ kind }: HealthCheck) => kind)).toEqual(all);
});
