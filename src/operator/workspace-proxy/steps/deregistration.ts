import type { CoderFailure } from "../../../coder/failure.ts";
import type { Result as Outcome } from "../../../coder/result.ts";
import { ApiError, isForbidden } from "../../../runtime/client/error.ts";
import { explain } from "../../shared/explain.ts";
import { patiently } from "../../shared/patiently.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { registrationOf } from "../spec.ts";
import { findCoderd } from "./coderd.ts";
import { readCredentials } from "./credentials.ts";

/**
 * Takes the proxy that we registered off coderd's list. Best effort: what stands in the way is told, and holds
 * nothing up.
 */
export async function deregister(snapshot: Snapshot, environment: Environment): Promise<void> {
  const { proxyID, proxyName = proxyID, coderURL } = snapshot.object.status ?? {};
  if (!proxyName) return;
  const { events, log } = environment.context;
  const obstacle = await remove(proxyID ?? proxyName, snapshot, environment).catch(unlessRetryHelps);
  if (obstacle === undefined) {
    const message = `removed the proxy "${proxyName}" from coderd at ${coderURL}`;
    events.event(snapshot.object, { type: "Normal", reason: "Deregistered", message });
    return;
  }
  const message = `the proxy "${proxyName}" stays registered at ${coderURL}; delete it there: ${obstacle}`;
  log.warn("proxy could not be deregistered", { proxy: proxyName, coderd: coderURL, because: obstacle });
  events.event(snapshot.object, { type: "Warning", reason: "NotDeregistered", message });
}

/** Removes the proxy, or says why it could not. */
async function remove(
  idOrName: string,
  snapshot: Snapshot,
  environment: Environment,
): Promise<string | undefined> {
  if (!registrationOf(snapshot.proxy))
    return "the proxy was given a token, which may be that of this very record";
  const coderd = await findCoderd(snapshot, environment.context);
  const access = await readCredentials(snapshot, environment, coderd.value);
  const session = access.value?.kind === "session" ? access.value : environment.memory.session;
  if (!session) return (coderd.value ? access : coderd).condition?.message;
  if (session.coderd.url !== snapshot.object.status?.coderURL)
    return `the operator now has credentials for ${session.coderd.url}`;
  const { context, ports } = environment;
  const deletion = () => session.client.deleteWorkspaceProxy(idOrName);
  const waiting = { clock: context.clock, random: ports.random };
  const failure = failureOf(await patiently(deletion, failureOf, waiting));
  return failure?.kind === "notFound" ? undefined : failure?.message;
}

function failureOf(deleted: Outcome<void, CoderFailure>): CoderFailure | undefined {
  return deleted.ok ? undefined : deleted.failure;
}

/** Without the API server the finalizer can't be removed either, so waiting for it costs nothing. */
function unlessRetryHelps(error: unknown): string {
  if (error instanceof ApiError && !isForbidden(error)) throw error;
  return explain(error).message;
}
