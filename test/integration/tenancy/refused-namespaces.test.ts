import { findCondition, Role } from "kube-controller-runtime";
import { adminClient, eventually } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import { aControlPlane } from "../../../lab/builders.ts";
import { startOperator } from "../../../lab/operator.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";

const cluster = sharedCluster();
const TIME_LIMIT = { withinMs: 20_000 };

test("grants are made only in permitted namespaces and revoked elsewhere, and the condition names the others", async () => {
  const [namespace, allowed, refused, own] = await Promise.all(
    ["home", "allowed", "refused", "operator"].map((prefix) => cluster.createNamespace(prefix)),
  );
  if (!namespace || !allowed || !refused || !own) throw new Error("no namespaces");
  const person = await adminClient(cluster);
  const scope = { namespaces: [namespace, allowed, refused, own] };
  const rolesIn = async (place: string) => (await person.list(Role, { namespace: place })).items.length;

  const before = await startOperator(cluster, scope);
  const spec = { rbac: { workspaceNamespaces: [allowed, refused, own] } };
  await person.create(CoderControlPlane, aControlPlane({ namespace, name: "coder", spec }));
  await eventually(
    async () => expect(await Promise.all([allowed, refused, own].map(rolesIn))).toEqual([1, 1, 1]),
    TIME_LIMIT,
  );
  await before.stop();

  const tenancy = { operatorNamespace: own, workspaceNamespaces: [allowed, own] };
  await using _ = await startOperator(cluster, { ...scope, tenancy });
  await eventually(async () => {
    const { status } = await person.get(CoderControlPlane, { namespace, name: "coder" });
    const condition = findCondition(status?.conditions, "WorkspaceRBACReady");
    expect(condition).toMatchObject({ status: "False", reason: "NamespaceRefused" });
    expect(condition?.message).toContain(`"${refused}": it is not in the operator's --workspace-namespaces`);
    expect(condition?.message).toContain(`"${own}": it is the namespace of the operator`);
    expect(condition?.message).not.toContain(`"${allowed}"`);
  }, TIME_LIMIT);
  expect(await Promise.all([namespace, allowed, refused, own].map(rolesIn))).toEqual([1, 1, 0, 0]);
});
