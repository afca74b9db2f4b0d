import { type Client, Deployment, Secret } from "kube-controller-runtime";
import { adminClient, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { aControlPlane } from "../../../lab/builders.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { type NamespacedOperator, startNamespacedOperator } from "../../support/namespaced-operator.ts";

const TIME_LIMIT = { withinMs: 30_000 };

const cluster = sharedCluster();
let person: Client;
let scope: [string, string];
let elsewhere: string;
let operator: NamespacedOperator;
beforeAll(async () => {
  person = await adminClient(cluster);
  scope = [await cluster.createNamespace("a"), await cluster.createNamespace("b")];
  elsewhere = await cluster.createNamespace("elsewhere");
  operator = await startNamespacedOperator(cluster, scope);
});
afterAll(() => operator?.process[Symbol.asyncDispose]());

test("an operator of two namespaces works in both, with a Role in each, and requests nothing elsewhere", async () => {
  const spec = { licenseSecretRef: { name: "license" } };
  for (const namespace of [...scope, elsewhere]) {
    await person.create(Secret, {
      metadata: { namespace, name: "license" },
      stringData: { license: "none" },
    });
    await person.create(CoderControlPlane, aControlPlane({ namespace, spec }));
  }
  for (const namespace of scope)
    await eventually(() => person.get(Deployment, { namespace, name: "coder" }), TIME_LIMIT);

  const requests = (await cluster.auditRequests()).filter(({ user }) => user === operator.user);
  const outside = requests.filter(({ namespace }) => !scope.includes(namespace ?? ""));
  expect(outside.map(({ verb, uri }) => `${verb} ${uri}`)).toEqual([]);
  expect(requests.filter(({ code }) => code === 403)).toEqual([]);
  await expect(person.get(Deployment, { namespace: elsewhere, name: "coder" })).rejects.toMatchObject({
    reason: "NotFound",
  });
});
