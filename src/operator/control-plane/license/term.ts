import { type Condition, type ConditionState, findCondition, timestamp } from "kube-controller-runtime";
import type { LicenseStatus } from "../../../api/v1alpha1/control-plane.ts";
import { licenseTier, warningsOf } from "../../../coder/entitlements.ts";
import { type CoderFailure, mayResolve } from "../../../coder/failure.ts";
import { redact } from "../../../coder/redact.ts";
import { reasonOf, withAdvice } from "../../coderd/failure.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { type ControlPlaneResult, conditionTypes, unknown } from "../status.ts";
import type { LicenseFacts } from "./entitlements.ts";
import { EXPIRES_SOON, judgeLicense, type Licensing, licensingOf } from "./verdict.ts";

/** coderd has about one warning per feature. */
const MAX_WARNINGS = 20;

interface TermInputs {
  readonly token: string | undefined;
  /** Results of coderd in this reconcile. Absent if it was not asked. */
  readonly facts: LicenseFacts | undefined;
}

/**
 * Publishes the term and the usage of the licenses, including those that users uploaded. Keeps the last
 * values while coderd does not respond.
 */
export async function reportLicenseTerm(
  snapshot: Snapshot,
  environment: Environment,
  { token, facts }: TermInputs,
): Promise<ControlPlaneResult> {
  if (snapshot.controlPlane.operatorAccess.kind === "disabled")
    return notKnown("Disabled", "The licenses are unknown because operator access is disabled.");
  const before = findCondition(snapshot.object.status?.conditions, conditionTypes.licenseTerm);
  if (!token && !before) return notKnown("Pending", "Waiting for a ready coderd pod and operator access.");
  if (!facts) return {};
  const { entitlements, licenses } = facts;
  if (!entitlements.ok) return unanswered(entitlements.failure);
  if (!licenses.ok) return unanswered(licenses.failure);
  const licensing = licensingOf(entitlements.value, licenses.value, snapshot.now);
  const condition = judgeLicense(licensing);
  announce(condition, before, environment);
  return { condition, status: { license: statusOf(licensing) } };
}

/** Emits an event for a new state, except between good states. */
function announce(next: ConditionState, before: Condition | undefined, { own }: Environment): void {
  if (next.status !== "True" || before?.status === "False" || before?.reason === next.reason) return;
  if (next.reason === EXPIRES_SOON) own.emit("Warning", next.reason, next.message);
  else if (before?.reason === EXPIRES_SOON) own.emit("Normal", next.reason, next.message);
}

function statusOf({ entitlements, term }: Licensing): LicenseStatus {
  const { seats, managedAgents, aiSeats } = entitlements;
  return {
    tier: licenseTier(entitlements),
    trial: entitlements.trial,
    ...(term && { expires: timestamp(term.expires), graceEnds: timestamp(term.graceEnds) }),
    ...present({
      seatsUsed: seats.used,
      seatsAllowed: seats.allowed,
      managedAgentsUsed: managedAgents.used,
      managedAgentsAllowed: managedAgents.allowed,
      aiSeatsUsed: aiSeats.used,
      aiSeatsAllowed: aiSeats.allowed,
    }),
    warnings: warningsOf(entitlements)
      .slice(0, MAX_WARNINGS)
      .map((warning) => redact(warning)),
  };
}

function present<Name extends string>(
  numbers: Readonly<Record<Name, number | undefined>>,
): Partial<Record<Name, number>> {
  const known = Object.entries(numbers).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known) as Partial<Record<Name, number>>;
}

function notKnown(reason: string, message: string): ControlPlaneResult {
  return { ...unknown(reason, message), status: { license: undefined } };
}

/** Drops the values if coderd refuses to report them; keeps them if coderd is unreachable. */
function unanswered(failure: CoderFailure): ControlPlaneResult {
  if (mayResolve(failure)) return {};
  return notKnown(reasonOf(failure), withAdvice(failure));
}
