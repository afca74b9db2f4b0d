import { blocked, timestamp } from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../../api/v1alpha1/control-plane.ts";
import { externalProvisionerDaemons, licenseTier } from "../../../coder/entitlements.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import { retryDelay } from "../../coderd/retry.ts";
import { type CoderdContext, coderdClient } from "../coderd.ts";
import type { Snapshot } from "../observe.ts";
import type { Result } from "./result.ts";

const REFRESH_MS = 2 * 60_000;

/** Publishes what the licences of the deployment allow, and coderd's version: every two minutes, and after an upload. */
export async function publishEntitlements(
  snapshot: Snapshot,
  environment: CoderdContext,
  { token, uploaded }: { token: string | undefined; uploaded: boolean },
): Promise<Result> {
  if (snapshot.controlPlane.operatorAccess.kind === "disabled") return disabled;
  if (!token) return blocked("Pending", "waits for a ready pod of coderd and for operator access");
  const { memory } = environment;
  const waitMs = memory.entitlementsFailure
    ? memory.entitlementsFailure.retryAt - snapshot.now
    : untilRefresh(snapshot);
  if (!uploaded && waitMs > 0) {
    const result =
      memory.entitlementsFailure?.result ?? known(snapshot.object.status?.licenseTier ?? "unknown");
    return { ...result, requeueAfterMs: waitMs };
  }
  const client = await coderdClient(snapshot.controlPlane, token, environment);
  const [entitlements, build] = await Promise.all([client.entitlements(), client.buildInfo()]);
  const version = build.ok ? { version: build.value.version } : {};
  if (!entitlements.ok) {
    const result = problem(entitlements.failure, snapshot, environment);
    return { ...result, status: { ...result.status, ...version } };
  }
  delete memory.entitlementsFailure;
  const tier = licenseTier(entitlements.value);
  return {
    ...known(tier),
    status: {
      licenseTier: tier,
      externalProvisionerDaemonsEntitlement: externalProvisionerDaemons(entitlements.value),
      entitlementsLastChecked: timestamp(snapshot.now),
      ...version,
    },
    requeueAfterMs: REFRESH_MS,
  };
}

/** How long the last answer is good for. One from the future, by a clock that was ahead, is good for nothing. */
function untilRefresh({ object, now }: Snapshot): number {
  const age = now - Date.parse(object.status?.entitlementsLastChecked ?? "1970-01-01T00:00:00Z");
  return age >= 0 ? REFRESH_MS - age : 0;
}

/** Says what went wrong and remembers when to ask again, so that runs in between do not. */
function problem(failure: CoderFailure, { now }: Snapshot, { memory, ports }: CoderdContext): Result {
  const passing = failure.kind === "transient" || failure.kind === "rateLimited";
  const status = passing ? {} : unknownEntitlements;
  const result = blocked<ControlPlaneStatus>("EntitlementsQueryFailed", failure.message, { status });
  const retryMs = retryDelay(failure, memory, ports.random);
  memory.entitlementsFailure = { retryAt: now + retryMs, result };
  return { ...result, requeueAfterMs: retryMs };
}

const unknownEntitlements: Partial<ControlPlaneStatus> = {
  licenseTier: "unknown",
  externalProvisionerDaemonsEntitlement: "unknown",
};

/** What was known stays true for nobody knows how long, so it is not repeated. */
const disabled = blocked<ControlPlaneStatus>(
  "Disabled",
  "Operator access is turned off by spec.operatorAccess.disabled, so coderd is not asked for its entitlements.",
  { status: { ...unknownEntitlements, entitlementsLastChecked: undefined } },
);

function known(tier: string): Result {
  return { condition: { status: "True", reason: "Known", message: `the licence tier is ${tier}` } };
}
