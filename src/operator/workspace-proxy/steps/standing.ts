import { blocked, type Changes, fingerprint, Secret } from "kube-controller-runtime";
import type { WorkspaceProxyStatus } from "../../../api/v1alpha1/workspace-proxy.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import type { WorkspaceProxy } from "../../../coder/model.ts";
import { Patience } from "../../coderd/patience.ts";
import type { Memory } from "../memory.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { tokenSecret } from "../resources/token-secret.ts";
import type { Registration } from "../spec.ts";
import type { Session } from "./credentials.ts";
import type { Result } from "./result.ts";

/*
 * What registration can come to, in words for the status, and what is remembered of it so that the runs in
 * between need not ask coderd.
 */

/** How often coderd is asked whether the proxy is still there, its token good, and how it fares. */
const LOOK_EVERY_MS = 60_000;
/** How soon after it began to fare badly: pods that start report within seconds. Later looks are further apart. */
const LOOK_AGAIN_MS = 5_000;

/** The proxy's token and, if coderd could be asked, how coderd sees the proxy. */
export interface Standing {
  readonly token: string;
  readonly seen?: WorkspaceProxy;
}

/** One go at bringing the registration to what the spec wants. */
export interface Attempt {
  readonly snapshot: Snapshot;
  readonly environment: Environment;
  readonly registration: Registration;
  readonly session: Session;
}

/** The status of a proxy that we have registered nowhere. */
export const nowhere: Changes<WorkspaceProxyStatus> = {
  registered: false,
  proxyID: undefined,
  proxyName: undefined,
  coderURL: undefined,
  proxyTokenSecretRef: undefined,
};

/** What was found a moment ago, while nothing has changed that it depends on. */
export async function recall(attempt: Attempt): Promise<Result<Standing> | undefined> {
  const { environment, snapshot } = attempt;
  const { keptToken, now } = snapshot;
  const { seen, setback } = environment.memory;
  const inputs = inputsOf(attempt, keptToken);
  const refusal = setback?.recall(inputs, now);
  if (refusal) return { ...refusal, ...unchanged(snapshot) };
  const nextLookMs = seen?.inputs === inputs ? seen.at + lookAfterMs(seen) - now : 0;
  if (!seen || !keptToken || nextLookMs <= 0) return undefined;
  return { ...(await keep(keptToken, seen.record, attempt)), requeueAfterMs: nextLookMs };
}

/** All is well: the token is in its Secret, and nothing has to be asked for a while. */
export async function settle(
  token: string,
  record: WorkspaceProxy,
  attempt: Attempt,
): Promise<Result<Standing>> {
  const { memory } = attempt.environment;
  const { now } = attempt.snapshot;
  const since = memory.seen?.record.status === record.status ? memory.seen.since : now;
  const seen = { inputs: inputsOf(attempt, token), at: now, since, record };
  memory.seen = seen;
  memory.session = attempt.session;
  memory.setback?.succeeded();
  return { ...(await keep(token, record, attempt)), requeueAfterMs: lookAfterMs(seen) };
}

function lookAfterMs({ at, since, record }: Memory["seen"]): number {
  if (record.status === "ok") return LOOK_EVERY_MS;
  return Math.min(LOOK_EVERY_MS, Math.max(LOOK_AGAIN_MS, at - since));
}

/** coderd did not do what was asked. The token that we have, if any, still serves. */
export function failed(failure: CoderFailure, attempt: Attempt): Result<Standing> {
  const { environment, snapshot } = attempt;
  const { memory, ports } = environment;
  memory.setback ??= new Patience();
  const setback = memory.setback.failed(failure, {
    inputs: inputsOf(attempt, snapshot.keptToken),
    now: snapshot.now,
    random: ports.random,
    result: blocked(reasons[failure.kind], failure.message),
  });
  return { ...setback, ...unchanged(snapshot) };
}

/** The standing of a proxy about which nothing new is known. */
export function unchanged({ keptToken }: Snapshot): Pick<Result<Standing>, "value"> {
  return keptToken ? { value: { token: keptToken } } : {};
}

async function keep(token: string, record: WorkspaceProxy, attempt: Attempt): Promise<Result<Standing>> {
  const { environment, registration, session, snapshot } = attempt;
  const { url } = session.coderd;
  const secret = tokenSecret(snapshot.proxy, registration, token);
  await environment.context.children.converge(Secret, [secret], snapshot.owner);
  const message = `coderd at ${url} has the proxy "${record.name}"; its token is in Secret "${registration.token.name}"`;
  return {
    condition: { status: "True", reason: "Registered", message },
    status: {
      registered: true,
      proxyID: record.id,
      proxyName: record.name,
      coderURL: url,
      proxyTokenSecretRef: { ...registration.token },
    },
    value: { token, seen: record },
  };
}

function inputsOf({ session, registration }: Attempt, token: string | undefined): string {
  return fingerprint([session.fingerprint, JSON.stringify(registration), token]);
}

const reasons: Readonly<Record<CoderFailure["kind"], string>> = {
  duplicate: "ProxyNameTaken",
  forbidden: "Forbidden",
  invalid: "Rejected",
  notEntitled: "NotEntitled",
  notFound: "NotSupported",
  rateLimited: "RateLimited",
  transient: "CoderdUnreachable",
  unsupported: "NotSupported",
};
