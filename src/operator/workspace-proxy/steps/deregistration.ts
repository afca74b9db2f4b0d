import { explain, find, isTransient, refOf } from "kube-controller-runtime";
import { CoderWorkspaceProxy } from "../../../api/v1alpha1/kinds.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import type { Result as Outcome } from "../../../coder/result.ts";
import { patiently } from "../../coderd/patiently.ts";
import { leadsToOurPods } from "../../exposure/own-service.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { registrationOf } from "../spec.ts";
import { findCoderd } from "./coderd.ts";
import { readCredentials } from "./credentials.ts";

/** A proxy at coderd, as the status remembers it. */
interface RecordedProxy {
  /** Absent when the registration was interrupted before it could be noted. */
  readonly id: string | undefined;
  readonly name: string;
  readonly coderURL: string | undefined;
}

/**
 * Takes the proxy that we registered off coderd's list. Best effort: what stands in the way is told, and holds
 * nothing up.
 */
export async function deregister(snapshot: Snapshot, environment: Environment): Promise<void> {
  const proxy = await recordedProxy(snapshot, environment);
  if (!proxy) return;
  const { events, log } = environment.context;
  const { name, coderURL } = proxy;
  const obstacle = await remove(proxy, snapshot, environment).catch(unlessRetryHelps);
  if (obstacle === undefined) {
    const message = `removed the proxy "${name}" from coderd at ${coderURL}`;
    events.event(snapshot.object, { type: "Normal", reason: "Deregistered", message });
    return;
  }
  const message = `the proxy "${name}" stays registered at ${coderURL}; delete it there: ${obstacle}`;
  log.warn("proxy could not be deregistered", { proxy: name, coderd: coderURL, because: obstacle });
  events.event(snapshot.object, { type: "Warning", reason: "NotDeregistered", message });
}

/** Past the cache, which may not know yet of a registration that was made a moment ago. */
async function recordedProxy(
  { object }: Snapshot,
  { context }: Environment,
): Promise<RecordedProxy | undefined> {
  const latest = await find(context.client, CoderWorkspaceProxy, refOf(object));
  const { status } = latest?.metadata.uid === object.metadata.uid ? latest : object;
  const { proxyID: id, proxyName: name, coderURL } = status ?? {};
  return name ? { id, name, coderURL } : undefined;
}

/** Removes the proxy, or says why it could not. */
async function remove(
  { id, name, coderURL }: RecordedProxy,
  snapshot: Snapshot,
  environment: Environment,
): Promise<string | undefined> {
  if (!registrationOf(snapshot.proxy))
    return "the proxy was given a token, which may be that of this very record";
  const { context, memory, ports } = environment;
  const coderd = await findCoderd(snapshot, context);
  const access = await readCredentials(snapshot, environment, coderd.value);
  const session = access.value?.kind === "session" ? access.value : memory.session;
  if (!session) return (coderd.value ? access : coderd).condition?.message;
  const { controlPlane } = session.coderd;
  if (controlPlane && !leadsToOurPods(controlPlane.settings, context.caches))
    return `the Service of CoderControlPlane "${controlPlane.settings.identity.name}" leads elsewhere`;
  if (session.coderd.url !== coderURL) return `the operator now has credentials for ${session.coderd.url}`;
  const deletion = () => session.client.deleteWorkspaceProxy(id ?? name);
  const pace = { clock: context.clock, random: ports.random };
  const failure = failureOf(await patiently(deletion, failureOf, pace));
  return failure?.kind === "notFound" ? undefined : failure?.message;
}

function failureOf(deleted: Outcome<void, CoderFailure>): CoderFailure | undefined {
  return deleted.ok ? undefined : deleted.failure;
}

/** Without the API server the finalizer can't be removed either, so waiting for it costs nothing. */
function unlessRetryHelps(error: unknown): string {
  if (isTransient(error)) throw error;
  return explain(error).message;
}
