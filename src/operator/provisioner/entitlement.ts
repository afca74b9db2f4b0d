import { type BackedOff, blocked, fingerprint } from "kube-controller-runtime";
import { type Entitlement, externalProvisionerDaemons, isAllowed } from "../../coder/entitlements.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import { lacksLicense, withAdvice } from "../coderd/failure.ts";
import type { FoundControlPlane, ObservedControlPlane } from "../coderd/find-control-plane.ts";
import type { ProvisionerSession } from "./access.ts";
import type { Environment, Snapshot } from "./observe.ts";
import { conditionTypes, type ProvisionerResult, waiting } from "./status.ts";

/** Maximum age of a result, from any source. */
const FRESH_MS = 2 * 60_000;

/** The control plane refreshes its result when it expires, so wait for it. */
const GRACE_MS = 5_000;

interface Answer {
  readonly value: Entitlement;
  readonly nextCheckMs: number;
}

/**
 * Checks that the license includes external daemons, and returns a value if it does. Uses the status of the
 * control plane while it is fresh; otherwise asks coderd.
 */
export async function checkEntitlement(
  snapshot: Snapshot,
  environment: Environment,
  session: ProvisionerSession | undefined,
): Promise<ProvisionerResult<true>> {
  if (!session) return waiting(conditionTypes.entitled, "Waiting for a token for coderd.", snapshot);
  const { controlPlane } = session;
  const known =
    publishedAnswer(controlPlane, snapshot.now) ?? rememberedAnswer(controlPlane, snapshot.now, environment);
  if (known) return verdict(known, controlPlane);
  return ask(snapshot, environment, session);
}

function publishedAnswer({ status }: ObservedControlPlane, now: number): Answer | undefined {
  const { externalProvisionerDaemonsEntitlement: value, entitlementsLastChecked } = status;
  const age = now - Date.parse(entitlementsLastChecked ?? "");
  if (!isKnown(value) || !(age < FRESH_MS)) return undefined;
  return { value, nextCheckMs: FRESH_MS - age + GRACE_MS };
}

function rememberedAnswer(
  controlPlane: FoundControlPlane,
  now: number,
  { memory: { knownEntitlement: known } }: Environment,
): Answer | undefined {
  if (!known || known.of !== stateOf(controlPlane)) return undefined;
  const age = now - known.at;
  return age < FRESH_MS ? { value: known.value, nextCheckMs: FRESH_MS - age } : undefined;
}

async function ask(
  { now }: Snapshot,
  { memory }: Environment,
  { client, controlPlane, token }: ProvisionerSession,
): Promise<ProvisionerResult<true>> {
  const attempt = { inputs: fingerprint([stateOf(controlPlane), token]), now };
  const backedOff = memory.entitlement.current(attempt);
  if (backedOff) return notKnown(backedOff);
  const entitlements = await client.entitlements();
  if (!entitlements.ok) return notKnown(memory.entitlement.begin(entitlements.failure, attempt));
  memory.entitlement.end();
  const value = externalProvisionerDaemons(entitlements.value);
  memory.knownEntitlement = { of: stateOf(controlPlane), at: now, value };
  return verdict({ value, nextCheckMs: FRESH_MS }, controlPlane);
}

function notKnown({ failure, retryInMs }: BackedOff<CoderFailure>): ProvisionerResult<true> {
  const isRefused = failure.kind === "forbidden" || failure.kind === "notEntitled";
  const reason = isRefused ? "Forbidden" : "EntitlementsQueryFailed";
  return blocked(reason, withAdvice(failure), { requeueAfterMs: retryInMs });
}

const entitled = {
  status: "True",
  reason: "Entitled",
  message: "The license includes external provisioner daemons.",
} as const;

const gracePeriod = {
  status: "True",
  reason: "GracePeriod",
  message:
    "The license has expired; it includes external provisioner daemons until its grace period ends. Renew it.",
} as const;

function verdict(
  { value, nextCheckMs }: Answer,
  controlPlane: ObservedControlPlane,
): ProvisionerResult<true> {
  if (!isAllowed(value))
    return blocked("NotEntitled", notEntitled(controlPlane), { requeueAfterMs: nextCheckMs });
  const condition = value === "entitled" ? entitled : gracePeriod;
  return { condition, value: true, requeueAfterMs: nextCheckMs };
}

function notEntitled(controlPlane: ObservedControlPlane): string {
  return `${lacksLicense(controlPlane, "external provisioner daemons")} Running daemons are not changed.`;
}

/** Changes with every update of the control plane, so that a result is never older than that. */
function stateOf({ url, resourceVersion }: FoundControlPlane): string {
  return `${url} ${resourceVersion}`;
}

function isKnown(value: string | undefined): value is Entitlement {
  return value === "entitled" || value === "grace_period" || value === "not_entitled";
}
