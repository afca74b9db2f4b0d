import { type Client, Deployment, findCondition, isNotFound } from "kube-controller-runtime";
import { adminClient, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { aControlPlane } from "../../../lab/builders.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { essenceOfChildren } from "../../support/dump.ts";
import { type NamespacedOperator, startNamespacedOperator } from "../../support/namespaced-operator.ts";

const TIME_LIMIT = { withinMs: 20_000 };

const cluster = sharedCluster();
let person: Client;
let namespace: string;
let elsewhere: string;
let operator: NamespacedOperator;
beforeAll(async () => {
  [person, namespace, elsewhere] = await Promise.all([
    adminClient(cluster),
    cluster.createNamespace("mine"),
    cluster.createNamespace("elsewhere"),
  ]);
  operator = await startNamespacedOperator(cluster, [namespace]);
});
afterAll(() => operator?.process[Symbol.asyncDispose]());

async function conditionOf(name: string, type: string) {
  const { status } = await person.get(CoderControlPlane, { namespace, name });
  return findCondition(status?.conditions, type);
}

test("an operator with the Role of one namespace works fully there", async () => {
  const spec = { expose: { ingress: { host: "coder.example.com" } } };
  await person.create(CoderControlPlane, aControlPlane({ namespace, spec }));
  await eventually(
    async () => expect(await essenceOfChildren(person, { namespace, name: "coder" })).toHaveLength(6),
    TIME_LIMIT,
  );
  await cluster.markDeploymentReady(namespace, "coder");
  await eventually(
    async () => expect(await conditionOf("coder", "Ready")).toMatchObject({ status: "True" }),
    TIME_LIMIT,
  );
  const { stdout } = await cluster.kubectl(["get", "lease", "-n", namespace, "-o", "name"]);
  expect(stdout).toContain("coder-k8s-controller.coder.com");
});

test("it never requests what the Role does not allow", async () => {
  const requests = await cluster.auditRequests();
  const refused = requests.filter(({ user, code }) => user === operator.user && code === 403);
  expect(refused.map(({ verb, uri }) => `${verb} ${uri}`)).toEqual([]);
});

test("control planes of other namespaces are ignored", async () => {
  await person.create(CoderControlPlane, aControlPlane({ namespace: elsewhere }));
  await person.create(CoderControlPlane, aControlPlane({ namespace, name: "later" }));
  await eventually(() => person.get(Deployment, { namespace, name: "later" }), TIME_LIMIT);
  expect(
    (await person.get(CoderControlPlane, { namespace: elsewhere, name: "coder" })).status,
  ).toBeUndefined();
});

test("a workspace namespace outside its scope becomes a condition and blocks no deletion", async () => {
  const spec = { rbac: { workspaceNamespaces: [elsewhere] } };
  await person.create(CoderControlPlane, aControlPlane({ namespace, name: "reaching", spec }));
  const condition = await eventually(async () => {
    const found = await conditionOf("reaching", "WorkspaceRBACReady");
    expect(found).toMatchObject({ status: "False" });
    return found;
  }, TIME_LIMIT);
  expect(condition?.message).toContain(elsewhere);

  await person.delete(CoderControlPlane, { namespace, name: "reaching" });
  await eventually(async () => {
    const gone = await person
      .get(CoderControlPlane, { namespace, name: "reaching" })
      .then(() => false, isNotFound);
    expect(gone).toBe(true);
  }, TIME_LIMIT);
});
