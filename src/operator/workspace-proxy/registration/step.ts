import { blocked, fingerprint, Secret, type Settled, settle } from "kube-controller-runtime";
import type { CoderFailure } from "../../../coder/failure.ts";
import type { WorkspaceProxy } from "../../../coder/model.ts";
import { lacksLicense, reasonOf, withAdvice } from "../../coderd/failure.ts";
import type { ObservedProxy } from "../memory.ts";
import type { Environment, Snapshot } from "../observe.ts";
import type { Access, ProxySession } from "../session.ts";
import { type Registration, registrationOf, tokenKeyOf } from "../spec.ts";
import type { WorkspaceProxyResult } from "../status.ts";
import {
  notRegistered,
  type RegistrationRun,
  type RegistrationState,
  registered,
  registrationEffect,
} from "./effect.ts";
import type { RegistrationPlan } from "./plan.ts";
import { tokenSecret } from "./token-secret.ts";

/** Interval to check the existence, the token and the health of the proxy in coderd. */
const CHECK_EVERY_MS = 60_000;
/**
 * Initial interval while the proxy is unhealthy, because starting pods report within seconds. Later intervals
 * are longer.
 */
const RECHECK_MS = 5_000;

/** The proxy's token and, if coderd could be asked, its view of the proxy. */
export interface RegisteredAs {
  readonly token: string;
  readonly seen?: WorkspaceProxy;
}

/**
 * Ensures that the proxy is registered in coderd and its token is stored in a Secret. Returns the token even
 * if coderd is unavailable. In steady state, coderd is asked once a minute.
 */
export async function ensureRegistration(
  snapshot: Snapshot,
  environment: Environment,
  access: Access | undefined,
): Promise<WorkspaceProxyResult<RegisteredAs>> {
  const registration = registrationOf(snapshot.proxy);
  if (!registration) return leaveToUser(snapshot, environment, access);
  if (access?.kind !== "session")
    return {
      ...blocked("Pending", "Waiting for condition CredentialsReady to be True."),
      ...unchanged(snapshot),
    };
  const { keptToken, now, object } = snapshot;
  const { registration: backoff, seen } = environment.memory;
  const inputs = inputsOf(access, registration, keptToken);
  const isRecent = seen?.inputs === inputs && nextCheckMs(seen, now) > 0;
  const recent = isRecent ? seen.record : undefined;
  const run = { snapshot, environment, registration, session: access, recent };
  const start = { object, keptToken, coderd: undefined, isFresh: false };
  return report(await settle(registrationEffect(run), start, { inputs, now, backoff }), run);
}

type Outcome = Settled<RegistrationState, RegistrationPlan, CoderFailure>;

async function report(outcome: Outcome, run: RegistrationRun): Promise<WorkspaceProxyResult<RegisteredAs>> {
  const { plan } = outcome;
  switch (outcome.end) {
    case "overtaken":
    case "notAllowed":
      return blocked("Pending", "The spec changed during the registration; the operator retries.");
    case "failed": {
      const { failure, retryInMs } = outcome;
      const reason = reasonOf(failure, { duplicate: "ProxyNameTaken" });
      const isUnregistered = plan.do === "refuse" && !plan.own;
      const status = isUnregistered ? { status: { registered: false } } : {};
      const result = blocked(reason, explained(failure, run), { ...status, requeueAfterMs: retryInMs });
      return { ...result, ...unchanged(run.snapshot) };
    }
    case "settled":
      if (plan.do !== "keep") throw new TypeError(`a registration does not end with ${plan.do}`);
      return keep(plan, run, outcome.state.coderd !== undefined);
  }
}

function explained(failure: CoderFailure, { session: { coderd } }: RegistrationRun): string {
  return failure.kind === "notEntitled" && coderd.controlPlane
    ? lacksLicense(coderd.controlPlane, "workspace proxies")
    : withAdvice(failure);
}

/** The token is stored, and no request is needed for a while. */
async function keep(
  { record, token }: Extract<RegistrationPlan, { do: "keep" }>,
  run: RegistrationRun,
  hasAsked: boolean,
): Promise<WorkspaceProxyResult<RegisteredAs>> {
  const { environment, registration, session, snapshot } = run;
  const { memory } = environment;
  const { now } = snapshot;
  if (hasAsked || !memory.seen) {
    const since = memory.seen?.record.status === record.status ? memory.seen.since : now;
    memory.seen = { inputs: inputsOf(session, registration, token), at: now, since, record };
    memory.session = session;
  }
  const secret = tokenSecret(snapshot.proxy, registration, token);
  await environment.children.converge(Secret, [secret], snapshot.owner);
  const message = `coderd at ${session.coderd.url} has proxy "${record.name}"; its token is in Secret "${registration.token.name}".`;
  return {
    condition: { status: "True", reason: "Registered", message },
    status: registered(record, run),
    requeueAfterMs: nextCheckMs(memory.seen, now),
    value: { token, seen: record },
  };
}

function nextCheckMs({ at, since, record }: ObservedProxy, now: number): number {
  const isWell = record.status === "ok";
  const everyMs = isWell ? CHECK_EVERY_MS : Math.min(CHECK_EVERY_MS, Math.max(RECHECK_MS, at - since));
  return at + everyMs - now;
}

/** The token of a proxy remains valid while nothing new is known about it. */
function unchanged({ keptToken }: Snapshot): Pick<WorkspaceProxyResult<RegisteredAs>, "value"> {
  return keptToken ? { value: { token: keptToken } } : {};
}

function inputsOf(session: ProxySession, registration: Registration, token: string | undefined): string {
  return fingerprint([session.fingerprint, JSON.stringify(registration), token]);
}

/** The spec contains a token, so objects of an earlier registration are not needed anymore. */
async function leaveToUser(
  { proxy, owner, secrets }: Snapshot,
  { children }: Environment,
  access: Access | undefined,
): Promise<WorkspaceProxyResult<RegisteredAs>> {
  const ref = tokenKeyOf(proxy);
  for (const secret of secrets) {
    if (secret.metadata.name !== ref?.name) await children.remove(Secret, secret, owner);
  }
  const message = "The operator does not manage the registration because the spec contains a token.";
  return {
    condition: { status: "Unknown", reason: "NotManaged", message },
    status: { ...notRegistered, ...(ref ? { proxyTokenSecretRef: { ...ref } } : {}) },
    ...(access?.kind === "token" ? { value: { token: access.token } } : {}),
  };
}
