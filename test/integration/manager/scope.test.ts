import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import type { Client } from "../../../src/runtime/client/client.ts";
import { Deployment, Secret } from "../../../src/runtime/kinds.ts";
import { adminClient } from "../../support/admin-client.ts";
import { aControlPlane } from "../../support/builders.ts";
import { type LocalCluster, startCluster } from "../../support/cluster/cluster.ts";
import { eventually } from "../../support/eventually.ts";
import { type OperatorProcess, startOperatorProcess } from "../../support/operator-process.ts";

const PATIENCE = { withinMs: 30_000 };

let cluster: LocalCluster;
let person: Client;
let scope: string[];
let elsewhere: string;
let operator: OperatorProcess;
beforeAll(async () => {
  cluster = await startCluster({ audit: true });
  await cluster.installCRDs();
  person = await adminClient(cluster);
  scope = [await cluster.createNamespace("a"), await cluster.createNamespace("b")];
  elsewhere = await cluster.createNamespace("elsewhere");
  const role = readFileSync(new URL("../../../config/rbac/namespaced/role.yaml", import.meta.url), "utf8");
  for (const namespace of scope) await cluster.kubectl(["apply", "-n", namespace, "-f", "-"], role);
  operator = await startOperatorProcess(cluster, [
    `--namespaces=${scope.join(",")}`,
    `--leader-election-namespace=${scope[0]}`,
  ]);
});
afterAll(async () => {
  await operator?.[Symbol.asyncDispose]();
  await cluster?.stop();
});

test("an operator of two namespaces works in both, with a Role in each, and asks for nothing elsewhere", async () => {
  const spec = { licenseSecretRef: { name: "license" } };
  for (const namespace of [...scope, elsewhere]) {
    await person.create(Secret, {
      metadata: { namespace, name: "license" },
      stringData: { license: "none" },
    });
    await person.create(CoderControlPlane, aControlPlane({ namespace, spec }));
  }
  for (const namespace of scope)
    await eventually(() => person.get(Deployment, { namespace, name: "coder" }), PATIENCE);

  const requests = (await cluster.auditRequests()).filter(({ user }) => user === cluster.operator.user);
  const outside = requests.filter(({ namespace }) => !scope.includes(namespace ?? ""));
  expect(outside.map(({ verb, uri }) => `${verb} ${uri}`)).toEqual([]);
  expect(requests.filter(({ code }) => code === 403)).toEqual([]);
  await expect(person.get(Deployment, { namespace: elsewhere, name: "coder" })).rejects.toMatchObject({
    reason: "NotFound",
  });
});
