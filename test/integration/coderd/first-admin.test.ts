import { Ingress, Secret, Service } from "kube-controller-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { type CoderdStage, openCoderdStage } from "./stage.ts";

/* On the API server, under the operator's own role. Faults and crashes are in `test/world/control-plane/first-admin*`. */

const NAME = "coder";
const SECRET = "coder-first-admin";
const firstAdmin = { email: "admin@example.com" };
const expose = { ingress: { host: "coder.example.com" } };

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage(sharedCluster(), "first-admin");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

test("a new coderd gets its first admin, then a load balancer and an Ingress, with one generated Secret", async () => {
  const coderd = await stage.coderd(NAME, { isEmpty: true });
  const { people } = coderd.deployment;
  const service = {
    type: "LoadBalancer" as const,
    externalTrafficPolicy: "Local" as const,
    httpNodePort: 30_080,
  };
  await stage.create(NAME, { firstAdmin, expose, service });
  const waiting = { status: "False", reason: "WaitingForFirstAdmin" } as const;
  await stage.untilCondition(NAME, "ExposureReady", waiting);
  await stage.untilCondition(NAME, "ServiceReady", waiting);
  expect((await stage.get(Service, NAME)).spec?.type).toBe("ClusterIP");
  expect(await stage.exists(Ingress, NAME)).toBe(false);

  await stage.untilServing(NAME);
  await stage.untilCondition(NAME, "FirstAdminReady", { status: "True", reason: "Created" });
  const password = (await stage.secretValue(SECRET, "password")) ?? "";
  stage.secrets.add(password);
  expect(people.all).toMatchObject([{ email: firstAdmin.email, username: "admin", owner: true }]);
  expect(people.logIn(firstAdmin.email, password, "")).toBeDefined();
  await stage.untilCondition(NAME, "ExposureReady", { status: "True", reason: "Applied" });
  await stage.untilCondition(NAME, "ServiceReady", { status: "True", reason: "Applied" });
  expect((await stage.get(Service, NAME)).spec).toMatchObject({
    type: "LoadBalancer",
    externalTrafficPolicy: "Local",
  });
  expect(await stage.exists(Ingress, NAME)).toBe(true);

  await stage.whenSeen(() => stage.restart());
  const writes = stage.writes().filter(({ resource }) => resource !== "leases" && resource !== "events");
  expect(writes).toEqual([]);
  expect(people.all).toHaveLength(1);

  const { metadata } = await stage.get(CoderControlPlane, NAME);
  const owners = (await stage.get(Secret, SECRET)).metadata.ownerReferences;
  expect(owners).toMatchObject([{ kind: "CoderControlPlane", uid: metadata.uid, controller: true }]);
});
