import { blocked, fingerprint } from "kube-controller-runtime";
import { type Entitlement, externalProvisionerDaemons, isAllowed } from "../../../coder/entitlements.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import { Patience } from "../../coderd/patience.ts";
import type { FoundControlPlane } from "../../control-plane/session.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { conditionTypes } from "../status.ts";
import type { Session } from "./access.ts";
import { type Result, waiting } from "./result.ts";

/** How long an answer counts, whoever asked. */
const FRESH_MS = 2 * 60_000;

/** The control plane refreshes its answer at the moment it turns stale, so give it the time to. */
const GRACE_MS = 5_000;

interface Answer {
  readonly value: Entitlement;
  readonly nextLookMs: number;
}

/**
 * Lets only those pass whose licence allows daemons outside coderd; the value is there when it does. What the
 * control plane found out counts while it is fresh; after that coderd is asked.
 */
export async function checkEntitlement(
  session: Session | undefined,
  snapshot: Snapshot,
  environment: Environment,
): Promise<Result<true>> {
  if (!session) return waiting(conditionTypes.entitled, "waits for access to coderd", snapshot);
  const { controlPlane } = session;
  const known =
    publishedAnswer(controlPlane, snapshot.now) ?? rememberedAnswer(controlPlane, snapshot.now, environment);
  if (known) return verdict(known, controlPlane);
  return ask(session, snapshot, environment);
}

function publishedAnswer({ status }: FoundControlPlane, now: number): Answer | undefined {
  const { externalProvisionerDaemonsEntitlement: value, entitlementsLastChecked } = status;
  const age = now - Date.parse(entitlementsLastChecked ?? "");
  if (!isKnown(value) || !(age < FRESH_MS)) return undefined;
  return { value, nextLookMs: FRESH_MS - age + GRACE_MS };
}

function rememberedAnswer(
  controlPlane: FoundControlPlane,
  now: number,
  { memory: { entitlement } }: Environment,
): Answer | undefined {
  if (!entitlement || entitlement.of !== stateOf(controlPlane)) return undefined;
  const age = now - entitlement.at;
  return age < FRESH_MS ? { value: entitlement.value, nextLookMs: FRESH_MS - age } : undefined;
}

async function ask(
  { client, controlPlane, token }: Session,
  { now }: Snapshot,
  { memory, ports }: Environment,
): Promise<Result<true>> {
  memory.entitlementSetback ??= new Patience();
  const patience = memory.entitlementSetback;
  const inputs = fingerprint([stateOf(controlPlane), token]);
  const setback = patience.recall(inputs, now);
  if (setback) return setback;
  const entitlements = await client.entitlements();
  if (!entitlements.ok) {
    const { failure } = entitlements;
    const result = blocked(reasonFor(failure), failure.message);
    return patience.failed(failure, { inputs, now, random: ports.random, result });
  }
  patience.succeeded();
  const value = externalProvisionerDaemons(entitlements.value);
  memory.entitlement = { of: stateOf(controlPlane), at: now, value };
  return verdict({ value, nextLookMs: FRESH_MS }, controlPlane);
}

function verdict({ value, nextLookMs }: Answer, { settings }: FoundControlPlane): Result<true> {
  if (!isAllowed(value)) {
    const message = `the licence of CoderControlPlane "${settings.identity.name}" does not include external provisioner daemons; running daemons are left alone, and it is looked at again every two minutes`;
    return blocked("NotEntitled", message, { requeueAfterMs: nextLookMs });
  }
  const reason = value === "entitled" ? "Entitled" : "GracePeriod";
  const message = "the licence includes external provisioner daemons";
  return { condition: { status: "True", reason, message }, value: true, requeueAfterMs: nextLookMs };
}

function reasonFor({ kind }: CoderFailure): string {
  return kind === "forbidden" || kind === "notEntitled" ? "Forbidden" : "EntitlementsQueryFailed";
}

/** Changes with whatever the control plane says, so that an answer is never older than that. */
function stateOf({ url, resourceVersion }: FoundControlPlane): string {
  return `${url} ${resourceVersion}`;
}

function isKnown(value: string | undefined): value is Entitlement {
  return value === "entitled" || value === "grace_period" || value === "not_entitled";
}
