import { apiObject, apiRequest, Dice, eventually } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import { startOperator } from "../../../lab/operator.ts";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { controlPlane, Tenant } from "./tenant.ts";

const cluster = sharedCluster();
const admin = { server: cluster.server, caFile: cluster.caFile, token: cluster.admin.token };
const SPECS = 100;

interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** What a user may do in a namespace, one line each, as `kubectl auth can-i --list` shows it. */
async function rightsOf(user: string, namespace: string): Promise<Set<string>> {
  const rights = new Set<string>();
  for (const { verbs, apiGroups = [], resources = [], resourceNames = [] } of await rulesOf(user, namespace))
    for (const verb of verbs)
      for (const group of apiGroups)
        for (const resource of resources) rights.add([verb, group, resource, ...resourceNames].join(" "));
  return rights;
}

async function rulesOf(user: string, namespace: string): Promise<readonly Rule[]> {
  const body = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace } };
  const path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
  const { status } = await apiObject<{ status: { resourceRules: Rule[] } }>(admin, {
    method: "POST",
    path,
    body,
    as: user,
  });
  return status.resourceRules;
}

/** A spec that reaches as far as it can: some of them must be refused. */
function drawSpec(dice: Dice, namespaces: readonly string[]): ControlPlaneSpec {
  const some = <T>(values: readonly T[]) => values.filter(() => dice.next() < 0.3);
  const verbs = ["get", "list", "watch", "create", "patch", "delete", "*", "escalate"];
  const resources = ["secrets", "pods", "pods/exec", "roles", "deployments", "*", "serviceaccounts/token"];
  const rule = () => ({
    apiGroups: [dice.pick(["", "apps", "rbac.authorization.k8s.io", "*"])],
    resources: [dice.pick(resources), ...some(resources)],
    verbs: [dice.pick(verbs), ...some(verbs)],
  });
  return {
    rbac: {
      workspacePerms: dice.next() < 0.8,
      enableDeployments: dice.next() < 0.5,
      workspaceNamespaces: some([...namespaces, "kube-system", "default"]),
      extraRules: dice.next() < 0.4 ? Array.from({ length: dice.whole(1, 3) }, rule) : [],
    },
    serviceAccount: dice.next() < 0.5 ? { name: dice.pick(["default", "chosen", "admin"]) } : {},
  };
}

test("a hundred drawn specs give no service account of a namespace a right that its editor lacks", async () => {
  const [own, ...others] = await Promise.all(
    ["own", "other", "allowed"].map((name) => cluster.createNamespace(`rights-${name}`)),
  );
  if (!own || !others[0] || !others[1]) throw new Error("no namespaces");
  const [other, allowed] = others;
  const tenant = new Tenant(cluster, `editor-of-${own}`);
  await tenant.becomeEditor(own);
  // The person is an administrator of the last one: there workspaces may run.
  await tenant.becomeEditor(allowed);
  await tenant.allow(allowed, "create", "rolebindings.rbac.authorization.k8s.io");
  await using _operator = await startOperator(cluster, { namespaces: [own, other, allowed] });

  const dice = new Dice(17);
  const accepted = new Set<string>();
  for (let index = 0; index < SPECS; index++) {
    const name = `drawn-${dice.whole(0, 9)}`;
    const spec = drawSpec(dice, [other, allowed]);
    const { status, text } = await write(controlPlane(own, name, spec), name);
    if (status < 300) accepted.add(name);
    else expect(text).toMatch(/denied request|is invalid/);
    if (index % 25 === 24) await expectNoMore([...accepted]);
  }
  expect(accepted.size).toBeGreaterThan(3);

  async function expectNoMore(names: readonly string[]): Promise<void> {
    await eventually(
      async () => {
        for (const name of names) {
          const { metadata, status } = await objectOf(name);
          expect(status?.observedGeneration).toBe(metadata.generation);
        }
      },
      { withinMs: 30_000 },
    );
    const accounts = await accountsIn(own ?? "");
    // Or there would be nothing to compare.
    const held = await Promise.all(
      accounts.map((account) => rightsOf(`system:serviceaccount:${own}:${account}`, own ?? "")),
    );
    expect(held.some((rights) => rights.has("deletecollection  pods"))).toBe(true);
    for (const namespace of [own ?? "", other ?? "", allowed ?? "", "kube-system", "default"]) {
      const ofPerson = await rightsOf(tenant.user, namespace);
      for (const account of accounts) {
        const user = `system:serviceaccount:${own}:${account}`;
        const more = [...(await rightsOf(user, namespace))].filter((right) => !ofPerson.has(right));
        expect(more, `${user} in ${namespace}`).toEqual([]);
      }
    }
  }

  function write(body: object, name: string) {
    const path = `${pathOf(name)}?fieldManager=tenant&force=true`;
    const contentType = "application/apply-patch+yaml";
    return apiRequest(admin, { method: "PATCH", path, body, contentType, as: tenant.user });
  }

  function pathOf(name: string): string {
    return `/apis/coder.com/v1alpha1/namespaces/${own}/codercontrolplanes/${name}`;
  }

  function objectOf(name: string) {
    const path = pathOf(name);
    return asAdmin<{ metadata: { generation: number }; status?: { observedGeneration?: number } }>(path);
  }
}, 120_000);

async function accountsIn(namespace: string): Promise<string[]> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  const { items } = await asAdmin<{ items: { metadata: { name: string } }[] }>(path);
  return items.map(({ metadata }) => metadata.name);
}

function asAdmin<T>(path: string): Promise<T> {
  return apiObject<T>(admin, { method: "GET", path });
}
