import { blocked, controllerOf, type Secret, type StepResult } from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import type { CoderClient } from "../../coder/client.ts";
import type { CoderTarget } from "../../coder/clients.ts";
import { MANAGED_BY_LABEL, MANAGER_NAME } from "../names.ts";
import { type SecretKey, trimmed } from "../normalize.ts";
import { type SourceNames, type Sources, secretText } from "../sources.ts";
import { accessHostFor, addressSources } from "./address.ts";
import { accessProblem, type ObservedControlPlane } from "./find-control-plane.ts";
import type { CoderPorts } from "./ports.ts";
import type { ControlPlane } from "./settings.ts";

/*
 * Opens sessions with the coderd of a control plane: reads the token and creates the client. Failures are
 * step results, so that each stage has its own condition.
 */

/** No watch reports the creation of the Secret, so it is polled. */
const SECRET_RETRY_MS = 30_000;

/** The operator's token for a control plane. It is only sent to the coderd of this control plane. */
export function operatorToken(
  { settings, status }: Pick<ObservedControlPlane, "settings" | "status">,
  sources: Sources,
): StepResult<object, string> {
  const { name, uid } = settings.identity;
  const ref = operatorTokenRef(settings, status);
  if (!status.operatorAccessReady || !ref) {
    const why = accessProblem(status) ?? "It is not ready yet.";
    return blocked(
      "OperatorAccessNotReady",
      `The operator has no access to CoderControlPlane "${name}". ${why}`,
    );
  }
  return tokenFrom(ref, sources, { recipient: { controlPlaneUID: uid } });
}

/**
 * Location of the operator's token for a control plane, if it exists. The location comes from the spec, never
 * from the status.
 */
export function operatorTokenRef(
  { operatorAccess }: ControlPlane,
  status: ControlPlaneStatus | undefined,
): SecretKey | undefined {
  const isThere = trimmed(status?.operatorTokenSecretRef?.name) !== undefined;
  return isThere && operatorAccess.kind !== "disabled" ? operatorAccess.token : undefined;
}

/**
 * Recipient of a token: the coderd of a control plane, pods that can read the Secret anyway, or any other
 * server.
 */
export type Recipient = { readonly controlPlaneUID: string } | "pods" | "elsewhere";

interface Use {
  readonly recipient: Recipient;
  /** The content to request if the Secret has none. */
  readonly wants?: string;
}

/**
 * Reads a token from a Secret in the namespace. A token that the operator created is only returned for the
 * coderd of its own control plane, even if another object refers to its Secret.
 */
export function tokenFrom(
  ref: SecretKey,
  sources: Sources,
  { recipient, wants = "a session token" }: Use,
): StepResult<object, string> {
  const { name, key } = ref;
  const refused = (reason: string, message: string) =>
    blocked(reason, message, { requeueAfterMs: SECRET_RETRY_MS });
  const uid = typeof recipient === "string" ? undefined : recipient.controlPlaneUID;
  const secret = sources.secret(name);
  if (secret && recipient !== "pods" && isKeptFrom(uid, secret))
    return refused(
      "SecretNotAllowed",
      `Secret "${name}" was created by the operator for a different purpose, so its token is not sent to this coderd; store your own token in another Secret and refer to that Secret.`,
    );
  const token = secretText(sources, ref);
  if (!token) {
    const message = `Secret "${name}" does not exist or has no key "${key}"; add ${wants}.`;
    return refused("SecretMissing", message);
  }
  if (!SENDABLE.test(token)) {
    const message = `Key "${key}" of Secret "${name}" does not contain a valid token; store the token as plain text.`;
    return refused("TokenMalformed", message);
  }
  const message = `Using the token in Secret "${name}".`;
  return { condition: { status: "True", reason: "TokenFound", message }, value: token };
}

/** Valid tokens: printable characters without whitespace. */
const SENDABLE = /^[!-~]{1,4096}$/;

/** Whether the operator created the Secret for something other than the control plane with this UID. */
function isKeptFrom(controlPlaneUID: string | undefined, secret: Secret): boolean {
  const controller = controllerOf(secret);
  const isMarked = secret.metadata?.labels?.[MANAGED_BY_LABEL] === MANAGER_NAME;
  const isOwned = controller?.apiVersion === CoderControlPlane.apiVersion;
  return (isMarked || isOwned) && (controller === undefined || controller.uid !== controlPlaneUID);
}

/**
 * Returns a client for a control plane's coderd at `url`. It trusts the certificates that coderd serves, even
 * if they are valid only for its access URL.
 */
export function openSession(
  controlPlane: ControlPlane,
  { url, token }: { readonly url: string; readonly token: string | undefined },
  {
    ports,
    sources,
  }: { readonly ports: Pick<CoderPorts, "coderd" | "clusterDomain">; readonly sources: Sources },
): CoderClient {
  const trust = certificates(servingCertificates(controlPlane), sources);
  const accessHost = accessHostFor(controlPlane, sources, ports.clusterDomain);
  return ports.coderd.client({ url, token, accessHost, ...trust });
}

/** More than any system bundle. Every session holds them, so their size must be limited. */
const MAX_CERTIFICATE_BYTES = 1024 * 1024;

/**
 * Reads PEM certificates from keys of Secrets, skipping missing ones. Fails at 1 MiB without reading more.
 */
export function certificates(
  keys: readonly SecretKey[],
  sources: Sources,
): Pick<CoderTarget, "ca" | "fault"> {
  const found: string[] = [];
  let bytes = 0;
  for (const key of keys) {
    const pem = secretText(sources, key);
    bytes += pem?.length ?? 0;
    if (bytes > MAX_CERTIFICATE_BYTES) return { fault: tooManyCertificates(key) };
    if (pem) found.push(pem);
  }
  return found.length > 0 ? { ca: found.join("\n") } : {};
}

function tooManyCertificates({ name, key }: SecretKey): string {
  return `Key "${key}" of Secret "${name}" exceeds the limit of 1 MiB for all CA certificates together; remove certificates that are not needed.`;
}

/** Names of the objects that a session with a control plane, and pods that connect to it, need. */
export function sessionSources({
  settings,
  status,
}: Pick<ObservedControlPlane, "settings" | "status">): Required<SourceNames> {
  const token = operatorTokenRef(settings, status);
  const served = servingCertificates(settings).map(({ name }) => name);
  return {
    tokens: token ? [token.name] : [],
    secrets: [...served, ...addressSources("Secret", settings)],
    configMaps: addressSources("ConfigMap", settings),
  };
}

function servingCertificates({ pod: { tlsSecretNames, authorities } }: ControlPlane): SecretKey[] {
  const served = tlsSecretNames.flatMap((name) => [
    { name, key: "ca.crt" },
    { name, key: "tls.crt" },
  ]);
  return served.length > 0 ? [...authorities, ...served] : [];
}
