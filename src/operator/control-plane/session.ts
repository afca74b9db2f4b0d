import {
  blocked,
  type Change,
  controllerOf,
  findCondition,
  type Kind,
  type KubeObject,
  keyOf,
  keyOfObject,
  type ObjectKey,
  type ObjectRef,
  type RunContext,
  Secret,
  type StepResult,
  type Stored,
  UNREPORTED,
} from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import type { CoderClient } from "../../coder/client.ts";
import type { CoderTarget } from "../../coder/clients.ts";
import { leadsToOurPods } from "../exposure/own-service.ts";
import { clusterURL } from "../exposure/service.ts";
import { MANAGED_BY_LABEL, MANAGER_NAME, type Parent } from "../names.ts";
import { type SecretKey, trimmed } from "../normalise.ts";
import type { CoderPorts } from "../ports.ts";
import { readSecretValue } from "../secret.ts";
import { type ControlPlane, withDefaults } from "./spec.ts";

/*
 * How provisioners and workspace proxies come to speak to the coderd of a control plane: find it, get a token,
 * make a client. A failure is the result of a step, so each stage has its condition.
 */

type Caches = RunContext["caches"];

/** What it takes to read Secrets, those of ours and those of others. */
export type SecretReader = Pick<RunContext, "caches" | "referenced">;

/** No watch reports the creation of the Secret, so it is read again this often. */
const SECRET_RETRY_MS = 30_000;

/** A control plane that was found and has an address. */
export interface FoundControlPlane {
  readonly settings: ControlPlane;
  readonly status: ControlPlaneStatus;
  /** Computed from the spec: whoever may write a status must not choose where tokens go. */
  readonly url: string;
  /** Changes whenever the control plane says something new. */
  readonly resourceVersion: string;
}

/** The index of objects by the control plane, `namespace/name`, that they name. */
export const CONTROL_PLANE_INDEX = "controlPlane";

interface NamesControlPlane extends KubeObject {
  spec?: { controlPlaneRef?: { name?: string } };
}

/** For the index of a kind whose objects may name a control plane of their own namespace. */
export function namedControlPlane({ metadata, spec }: Stored<NamesControlPlane>): string[] {
  const name = trimmed(spec?.controlPlaneRef?.name);
  return name ? [keyOf({ namespace: metadata.namespace, name })] : [];
}

/** For `watches`: the objects of a kind, indexed so, that name a control plane. */
export function thoseNaming<T extends KubeObject>(kind: Kind<T>) {
  return (controlPlane: Stored<CoderControlPlane>, caches: Caches): ObjectKey[] =>
    caches.of(kind).byIndex(CONTROL_PLANE_INDEX, keyOfObject(controlPlane)).map(keyOfObject);
}

/** For `watches`: what a control plane says before its first report is nothing to go by. */
export function controlPlaneReported({ type, object, previous }: Change<CoderControlPlane>): boolean {
  if (type !== "updated" || !previous) return true;
  if (object.metadata.generation !== previous.metadata.generation) return true;
  return hasReported(object) || hasReported(previous);
}

function hasReported({ status = {} }: CoderControlPlane): boolean {
  return status.observedGeneration !== undefined || status.url !== undefined;
}

/** Finds the control plane `name`; needs no request. */
export function findControlPlane(
  { namespace, name }: { readonly namespace: string; readonly name: string | undefined },
  { caches }: Pick<RunContext, "caches">,
): StepResult<object, FoundControlPlane> {
  if (!name)
    return blocked("NotConfigured", "spec.controlPlaneRef.name is not set; name a CoderControlPlane");
  const object = caches.of(CoderControlPlane).get(keyOf({ namespace, name }));
  if (!object) {
    const message = `CoderControlPlane "${name}" does not exist in namespace "${namespace}"; create it or correct spec.controlPlaneRef.name`;
    return blocked("NotFound", message);
  }
  if (!object.status || !hasReported(object))
    return blocked(UNREPORTED, `waits for the first status of CoderControlPlane "${name}", which is new`);
  if (!object.status.url)
    return blocked("Pending", `waits for CoderControlPlane "${name}" to have a URL in its status`);
  const settings = withDefaults(object);
  if (!leadsToOurPods(settings, caches)) {
    const message = `Service "${settings.childName}" of CoderControlPlane "${name}" does not exist or leads elsewhere; see the conditions of the control plane.`;
    return blocked("ServiceNotOurs", message, { requeueAfterMs: SECRET_RETRY_MS });
  }
  const url = clusterURL(settings);
  return {
    condition: { status: "True", reason: "Found", message: `CoderControlPlane "${name}" is at ${url}` },
    value: {
      settings,
      status: object.status,
      url,
      resourceVersion: object.metadata.resourceVersion,
    },
  };
}

/** The token that the operator has for a control plane: for the coderd of that one and no other. */
export async function operatorToken(
  { settings, status }: Pick<FoundControlPlane, "settings" | "status">,
  context: SecretReader,
): Promise<StepResult<object, string>> {
  const { name, namespace, uid } = settings.identity;
  const ref = operatorTokenRef(settings, status);
  if (!status.operatorAccessReady || !ref) {
    const why = findCondition(status.conditions, "OperatorAccessReady")?.message ?? "not ready yet";
    return blocked(
      "OperatorAccessNotReady",
      `CoderControlPlane "${name}" gives the operator no access: ${why}`,
    );
  }
  return tokenFrom(ref, { namespace, context, recipient: { controlPlaneUID: uid } });
}

/** Where the operator's token for a control plane is, once there is one: the spec says where, never the status. */
export function operatorTokenRef(
  { operatorAccess }: ControlPlane,
  status: ControlPlaneStatus | undefined,
): SecretKey | undefined {
  const isThere = trimmed(status?.operatorTokenSecretRef?.name) !== undefined;
  return isThere && operatorAccess.kind !== "disabled" ? operatorAccess.token : undefined;
}

export interface TokenUse {
  readonly namespace: string;
  readonly context: SecretReader;
  /** Who gets the token: the coderd of a control plane, pods that could read the Secret anyway, or anybody else. */
  readonly recipient: { readonly controlPlaneUID: string } | "pods" | "elsewhere";
}

/**
 * The token in a Secret of the namespace. One that the operator made is given out for the coderd of its own control
 * plane alone, whoever names its Secret.
 */
export async function tokenFrom(
  ref: SecretKey,
  { namespace, context, recipient }: TokenUse,
): Promise<StepResult<object, string>> {
  const secret = await readSecret({ namespace, name: ref.name }, context);
  const uid = typeof recipient === "string" ? undefined : recipient.controlPlaneUID;
  if (secret && recipient !== "pods" && isKeptFrom(uid, secret))
    return blocked("SecretNotAllowed", notAllowed(ref), { requeueAfterMs: SECRET_RETRY_MS });
  const token = readSecretValue(secret, ref.key)?.trim();
  if (!token) {
    const message = `Secret "${ref.name}" does not exist or has nothing under key "${ref.key}"; put a session token there`;
    return blocked("SecretMissing", message, { requeueAfterMs: SECRET_RETRY_MS });
  }
  const message = `the token in Secret "${ref.name}" is used`;
  return { condition: { status: "True", reason: "TokenFound", message }, value: token };
}

/** Whether the operator made the Secret, and not for the control plane with this UID. */
export function isKeptFrom(controlPlaneUID: string | undefined, secret: Secret): boolean {
  const controller = controllerOf(secret);
  const isMarked = secret.metadata?.labels?.[MANAGED_BY_LABEL] === MANAGER_NAME;
  const isOwned = controller?.apiVersion === CoderControlPlane.apiVersion;
  return (isMarked || isOwned) && (controller === undefined || controller.uid !== controlPlaneUID);
}

export function notAllowed({ name }: SecretKey): string {
  return `The operator made Secret "${name}" for another use and does not send its content to this coderd; put a token of your own into another Secret and name that one.`;
}

/** A client for a control plane's coderd at `url`, which trusts the certificates that it serves TLS with. */
export async function openSession(
  controlPlane: ControlPlane,
  { url, token }: { readonly url: string; readonly token: string | undefined },
  { ports, context }: { readonly ports: Pick<CoderPorts, "coderd">; readonly context: SecretReader },
): Promise<CoderClient> {
  const trust = await certificates(servedCertificates(controlPlane), controlPlane, context);
  return ports.coderd.client({ url, token, ...trust });
}

/** More than the authorities of any system take. Every session holds them, so nobody may choose how much that is. */
const MOST_CERTIFICATE_BYTES = 1024 * 1024;

/**
 * The certificates, in PEM, under the given keys of Secrets; those that are not there are left out. More than 1 MiB
 * is a fault, and no more than that is read.
 */
export async function certificates(
  keys: readonly SecretKey[],
  { identity: { namespace } }: Pick<Parent, "identity">,
  { referenced }: Pick<SecretReader, "referenced">,
): Promise<Pick<CoderTarget, "ca" | "fault">> {
  const found: string[] = [];
  let bytes = 0;
  for (const { name, key } of keys) {
    const pem = readSecretValue(await referenced(Secret).get({ namespace, name }), key)?.trim();
    bytes += pem?.length ?? 0;
    if (bytes > MOST_CERTIFICATE_BYTES) return { fault: tooManyCertificates({ name, key }) };
    if (pem) found.push(pem);
  }
  return found.length > 0 ? { ca: found.join("\n") } : {};
}

function tooManyCertificates({ name, key }: SecretKey): string {
  return `with key "${key}" of Secret "${name}" the CA certificates are larger than 1 MiB in all, which is the most that the operator reads; remove those that nobody needs`;
}

/** The Secrets that a session at the named control plane needs: for `refersTo`. */
export function sessionSecrets(
  { namespace, name }: { readonly namespace: string; readonly name: string | undefined },
  caches: Caches,
): ObjectRef[] {
  const object = name ? caches.of(CoderControlPlane).get(keyOf({ namespace, name })) : undefined;
  if (!object) return [];
  const settings = withDefaults(object);
  const token = operatorTokenRef(settings, object.status);
  const refs = servedCertificates(settings).map((key) => ({ namespace, name: key.name }));
  // A token that we made is in the cache of our children, which costs no further watch.
  const isCached = !token || caches.of(Secret).get(keyOf({ namespace, name: token.name })) !== undefined;
  return isCached ? refs : [{ namespace, name: token.name }, ...refs];
}

function servedCertificates({ pod: { tlsSecretNames, authorities } }: ControlPlane): SecretKey[] {
  const served = tlsSecretNames.flatMap((name) => [
    { name, key: "ca.crt" },
    { name, key: "tls.crt" },
  ]);
  return served.length > 0 ? [...authorities, ...served] : [];
}

async function readSecret(ref: ObjectRef, { caches, referenced }: SecretReader): Promise<Secret | undefined> {
  return caches.of(Secret).get(keyOf(ref)) ?? referenced(Secret).get(ref);
}
