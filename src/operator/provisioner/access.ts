import { findCondition, type StepResult } from "kube-controller-runtime";
import type { ProvisionerKeyRecord } from "../../api/v1alpha1/provisioner.ts";
import type { CoderClient } from "../../coder/client.ts";
import { type DaemonObservation, observeDaemons as observeAt } from "../coderd/daemons.ts";
import type { FoundControlPlane, ObservedControlPlane } from "../coderd/find-control-plane.ts";
import {
  openSession,
  operatorToken,
  operatorTokenRef,
  type Recipient,
  tokenFrom,
} from "../coderd/session.ts";
import { withBootstrapEnd } from "../coderd/token-end.ts";
import type { SecretKey } from "../normalize.ts";
import { clusterURL } from "../workload/exposure/service.ts";
import type { Environment, Snapshot } from "./observe.ts";
import { conditionTypes, type ProvisionerResult, waiting } from "./status.ts";

/** A session with the control plane's coderd. */
export interface ProvisionerSession {
  readonly controlPlane: FoundControlPlane;
  readonly client: CoderClient;
  readonly token: string;
  readonly credentialsSecretRef: SecretKey;
  /** Daemons of an organization. The result is shared by all pools with the same credentials. */
  readonly observeDaemons: (organizationId: string, maxAgeMs: number) => Promise<DaemonObservation>;
}

/** The condition of the credentials in use, and the condition of the others. */
export function accessConditions({ provisioner }: Snapshot): { used: string; unused: string } {
  const { operatorAccess, bootstrapSecret } = conditionTypes;
  return provisioner.session
    ? { used: bootstrapSecret, unused: operatorAccess }
    : { used: operatorAccess, unused: bootstrapSecret };
}

/** Returns the token to use: the token in the spec, otherwise the operator's token. */
export async function openAccess(
  snapshot: Snapshot,
  environment: Environment,
  controlPlane: FoundControlPlane | undefined,
): Promise<ProvisionerResult<ProvisionerSession>> {
  const { memory, own, ports } = environment;
  const { provisioner, sources } = snapshot;
  const { session: bootstrap } = provisioner;
  const found: StepResult<object, string> = bootstrap
    ? tokenFrom(bootstrap, sources, { recipient: recipientOf(controlPlane) })
    : controlPlane
      ? operatorToken(controlPlane, sources)
      : waiting(
          conditionTypes.operatorAccess,
          "Waiting for condition ControlPlaneReady to be True.",
          snapshot,
        );
  const { value: token, ...rest } = found;
  const result: ProvisionerResult<never> = bootstrap
    ? rest
    : { ...rest, status: { bootstrapTokenExpires: undefined } };
  const ref = bootstrap ?? (controlPlane && operatorTokenRef(controlPlane.settings, controlPlane.status));
  if (!token || !controlPlane || !ref) return result;
  const { url } = controlPlane;
  memory.session = { url, token };
  const client = openSession(controlPlane.settings, { url, token }, { ports, sources });
  const observeDaemons = (organizationId: string, maxAgeMs: number) =>
    observeAt(ports.answers, { client, url, token, organizationId, maxAgeMs });
  const value = { controlPlane, client, token, credentialsSecretRef: ref, observeDaemons };
  if (!bootstrap) return { ...result, value };
  const { now, object } = snapshot;
  const before = findCondition(object.status?.conditions, conditionTypes.bootstrapSecret);
  const emit = own.emit.bind(own);
  const given = { token, client, secretName: ref.name, memory, now, before, emit };
  return { ...(await withBootstrapEnd(result, given)), value };
}

function recipientOf(controlPlane: ObservedControlPlane | undefined): Recipient {
  return controlPlane ? { controlPlaneUID: controlPlane.settings.identity.uid } : "elsewhere";
}

/** Removes the condition of credentials that are no longer in use. */
export async function forgetUnused(
  { object, provisioner }: Snapshot,
  type: string,
): Promise<ProvisionerResult> {
  if (!findCondition(object.status?.conditions, type)) return {};
  const message = provisioner.session
    ? "Using the token in spec.bootstrap.credentialsSecretRef instead of the operator's token."
    : "Using the operator's token because spec.bootstrap is not set.";
  return { condition: { status: "Unknown", reason: "NotUsed", message } };
}

/** Clients for one URL, one per token, in order of preference. */
export interface Sessions {
  readonly url: string;
  readonly clients: readonly CoderClient[];
}

/**
 * Returns all sessions with a coderd that may have moved or lost its control plane: at the current URL with
 * every token, and at the URL in the status with a token provided by users or one that worked there before. A
 * status never determines which Secret is read. Empty if no URL or token is left.
 */
export function sessionsFor(
  record: ProvisionerKeyRecord,
  snapshot: Snapshot,
  { memory, ports }: Environment,
): Sessions[] {
  const { provisioner, sources } = snapshot;
  const controlPlane = controlPlaneOf(record, snapshot);
  const own = controlPlane && operatorTokenRef(controlPlane.settings, controlPlane.status);
  const isSpecs = nameOf(record, snapshot) === provisioner.controlPlaneName;
  const given = isSpecs ? provisioner.session : undefined;
  const here = controlPlane && clusterURL(controlPlane.settings, ports.clusterDomain);
  const sessions = [...new Set([here, record.controlPlaneURL])].map((url = "") => {
    const isHere = controlPlane !== undefined && url === here;
    if (url === "" || (isHere && !controlPlane.serviceSelectsPods)) return { url, clients: [] };
    const recipient = recipientOf(isHere ? controlPlane : undefined);
    const refs = [given, isHere ? own : undefined].filter((ref) => ref !== undefined);
    const tokens = refs.flatMap((ref) => tokenFrom(ref, sources, { recipient }).value ?? []);
    const remembered = memory.session?.url === url ? [memory.session.token] : [];
    const clients = [...new Set([...tokens, ...remembered])].map((token) =>
      controlPlane
        ? openSession(controlPlane.settings, { url, token }, { ports, sources })
        : ports.coderd.client({ url, token }),
    );
    return { url, clients };
  });
  return sessions.filter(({ clients }) => clients.length > 0);
}

/** The control plane that a key was created for, if it exists. */
export function controlPlaneOf(
  record: ProvisionerKeyRecord,
  snapshot: Snapshot,
): ObservedControlPlane | undefined {
  return snapshot.controlPlanes.get(nameOf(record, snapshot) ?? "");
}

function nameOf(
  { controlPlaneRefName }: ProvisionerKeyRecord,
  { provisioner }: Snapshot,
): string | undefined {
  return controlPlaneRefName ?? provisioner.controlPlaneName;
}
