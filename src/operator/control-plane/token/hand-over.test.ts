import { type Kind, Secret, systemClock } from "kube-controller-runtime";
import { answers, type Fault, prepareManager } from "kube-controller-runtime/testing";
import { expect, onTestFinished, test } from "vitest";
import { aControlPlane } from "../../../../lab/builders.ts";
import * as kinds from "../../../api/v1alpha1/kinds.ts";
import type { CoderClients } from "../../../coder/clients.ts";
import type { OperatorAccess } from "../../../coder/operator-access/access.ts";
import { failed, succeeded } from "../../../coder/result.ts";
import type { CoderPorts } from "../../coderd/ports.ts";
import { SharedAnswers } from "../../coderd/shared-answers.ts";
import { openTenancy } from "../../workload/rbac/tenancy.ts";
import { controlPlaneController } from "../controller.ts";

const unreachable = async () => failed({ kind: "transient", message: "no response" });
const coderd = { client: () => ({ currentUser: unreachable }) } as unknown as CoderClients;

/** A database whose token is valid until it is revoked. */
function database() {
  let token: string | undefined;
  let issued = 0;
  const access: OperatorAccess = {
    ensureToken: async (_target, held) => {
      if (token !== undefined && held === token) return succeeded({ token, expiresAt: Date.UTC(2027, 0, 1) });
      token = `id-secret${issued++}`;
      return succeeded({ token, expiresAt: Date.UTC(2027, 0, 1), issuedBecause: "missing" });
    },
    revokeToken: async () => {
      token = undefined;
      return succeeded(1);
    },
    inspect: async () => failed({ kind: "unreachable", message: "no inspection" }),
  };
  return {
    access,
    isValid: (candidate: string | undefined) => candidate !== undefined && candidate === token,
  };
}

/** Stores the Secret but returns a conflict. Then the Secret can be read only once for a while. */
function loseTrackOf(secret: string) {
  const seen = { stored: 0, reads: 0 };
  const fault: Fault = async (request, pass) => {
    if (!request.path.includes(secret)) return pass();
    if (seen.stored > 0 && ++seen.reads > 1) return answers(500)(request, pass);
    if (request.method !== "PATCH") return pass();
    await pass();
    seen.stored++;
    const conflict = { kind: "Status", code: 409, reason: "Conflict", message: "it was modified" };
    return answers(409, {}, JSON.stringify(conflict))(request, pass);
  };
  return { fault, seen };
}

test("a token that was stored is not revoked because the API server fails right after it", async () => {
  const { access, isValid } = database();
  const answers = new SharedAnswers(systemClock);
  const others = { answers, random: () => 0.5, clusterDomain: "cluster.local" };
  const ports: CoderPorts = { coderd, database: access, ...others };
  const world = prepareManager([controlPlaneController(ports, openTenancy)]);
  for (const kind of Object.values(kinds)) world.api.install(kind as Kind);
  world.start();
  onTestFinished(async () => void (await world.stop()));
  await world.clock.advance(0);
  const { fault, seen } = loseTrackOf("coder-operator-token");
  world.transport.fault = fault;
  const extraEnv = [{ name: "CODER_PG_CONNECTION_URL", value: "postgres://u@db/coder" }];
  const object = aControlPlane({ namespace: "n", spec: { operatorAccess: {}, extraEnv } });
  await world.person.create(kinds.CoderControlPlane, object);
  await world.clock.advance(1_000);
  expect(seen.stored).toBe(1);
  expect(seen.reads).toBeGreaterThan(1);
  const { data } = await world.person.get(Secret, { namespace: "n", name: "coder-operator-token" });
  expect(isValid(Buffer.from(data?.token ?? "", "base64").toString("utf8"))).toBe(true);
});
