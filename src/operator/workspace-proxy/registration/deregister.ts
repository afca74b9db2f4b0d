import { type Clock, explain, isTransient, type Random } from "kube-controller-runtime";
import type { CoderFailure } from "../../../coder/failure.ts";
import { rateLimitDelay } from "../../../coder/rate-limit.ts";
import type { Result as Outcome } from "../../../coder/result.ts";
import { isSameService, selectsOwnPods } from "../../workload/exposure/service.ts";
import { readCredentials } from "../credentials.ts";
import { findCoderd } from "../find-coderd.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { registrationOf } from "../spec.ts";

/** Limits for requests to a busy coderd. */
const MAX_ATTEMPTS = 3;
const MAX_WAIT_MS = 10_000;

/**
 * Deletes the registered proxy from coderd. Best effort: a failure is reported and does not block the
 * deletion.
 */
export async function deregister(snapshot: Snapshot, environment: Environment): Promise<void> {
  const { proxyID, proxyName: name, coderURL } = snapshot.object.status ?? {};
  if (!name) return;
  const { log, own } = environment;
  // After an interrupted registration, only the name is recorded.
  const problem = await remove(proxyID ?? name, snapshot, environment).catch(unlessRetryHelps);
  if (problem === undefined) {
    own.emit("Normal", "Deregistered", `Removed proxy "${name}" from coderd at ${coderURL}.`);
    return;
  }
  log.warn("failed to deregister proxy", { proxy: name, coderd: coderURL, because: problem });
  const message = `Proxy "${name}" remains registered at ${coderURL}; delete it manually. ${problem}`;
  own.emit("Warning", "NotDeregistered", message);
}

/** Deletes the proxy, or returns the reason for a failure. */
async function remove(
  idOrName: string,
  snapshot: Snapshot,
  environment: Environment,
): Promise<string | undefined> {
  if (!registrationOf(snapshot.proxy)) return "The token in the spec may belong to this proxy.";
  const { clock, memory, ports } = environment;
  const coderd = await findCoderd(snapshot, environment);
  const access = await readCredentials(snapshot, environment, coderd.value);
  const session = access.value?.kind === "session" ? access.value : memory.session;
  if (!session) return (coderd.value ? access : coderd).condition?.message;
  const { controlPlane } = session.coderd;
  if (controlPlane && !selectsOwnPods(controlPlane.settings, snapshot.coderdService))
    return `The Service of CoderControlPlane "${controlPlane.settings.identity.name}" selects other pods.`;
  if (!isSameService(session.coderd.url, snapshot.object.status?.coderURL))
    return `The operator now has credentials for ${session.coderd.url}.`;
  const deletion = () => session.client.deleteWorkspaceProxy(idOrName);
  const failure = failureOf(await retryRateLimited(deletion, failureOf, { clock, random: ports.random }));
  return failure?.kind === "notFound" ? undefined : failure?.message;
}

function failureOf(deleted: Outcome<void, CoderFailure>): CoderFailure | undefined {
  return deleted.ok ? undefined : deleted.failure;
}

/** If the API server is unavailable, the finalizer cannot be removed either, so a retry costs nothing. */
function unlessRetryHelps(error: unknown): string {
  if (isTransient(error)) throw error;
  return explain(error).message;
}

/** Retries a rate-limited call a few times, for callers that cannot wait for the next reconcile. */
export async function retryRateLimited<T>(
  call: () => Promise<T>,
  failureOf: (outcome: T) => CoderFailure | undefined,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    const outcome = await call();
    const failure = failureOf(outcome);
    if (failure?.kind !== "rateLimited" || attempt + 1 >= MAX_ATTEMPTS) return outcome;
    const waitMs = rateLimitDelay(attempt, failure.retryAfterMs, random);
    if (waitMs > MAX_WAIT_MS) return outcome;
    await clock.sleep(waitMs);
  }
}
