import type { Stored } from "kube-controller-runtime";
import {
  livenessProbeDefault,
  readinessProbeDefault,
  tokenSecretKey,
  workspaceProxyDefaults,
} from "../../api/v1alpha1/defaults.ts";
import type { CoderWorkspaceProxy } from "../../api/v1alpha1/kinds.ts";
import type { ProxyRegistration, WorkspaceProxySpec } from "../../api/v1alpha1/workspace-proxy.ts";
import { avoidReserved, childNameOf, type Identity, identityOf, nameLength, shortName } from "../names.ts";
import { oncePerObject, type SecretKey, secretKey, trimmed } from "../normalize.ts";
import type { ContainerPort } from "../workload/certificates.ts";
import { type Exposed, exposureOf } from "../workload/exposure/expose.ts";
import { serviceSettings } from "../workload/exposure/service.ts";
import { type PodSettings, podSettings } from "../workload/settings.ts";

/** coderd's own entry in its list of proxies. */
const reservedProxyNames = ["primary"];

/** How the proxy appears in coderd, and where its token is stored. */
export interface Registration {
  readonly proxyName: string;
  readonly displayName: string;
  readonly icon: string;
  readonly token: SecretKey;
}

/** Source of the proxy's session token. `none` only for objects stored before the validation rule existed. */
type ProxyCredentials =
  | { readonly kind: "given"; readonly token: SecretKey }
  | {
      readonly kind: "bootstrap";
      readonly coderURL: string;
      readonly session: SecretKey;
      readonly registration: Registration;
    }
  | { readonly kind: "controlPlane"; readonly name: string; readonly registration: Registration }
  | { readonly kind: "none" };

/**
 * A workspace proxy with defaults applied and names trimmed. `childName` is the name of the Deployment, the
 * Service and the exposure.
 */
export interface WorkspaceProxy extends Exposed {
  readonly app: "coder-workspace-proxy";
  /** Defaults to the image of the control plane, otherwise the default image. */
  readonly image: string | undefined;
  readonly replicas: number;
  readonly pod: PodSettings;
  readonly derpOnly: boolean;
  /** Defaults to coderd's access URL. */
  readonly primaryAccessURL: string | undefined;
  readonly credentials: ProxyCredentials;
}

/** How the operator registers the proxy. Absent if the operator does not. */
export function registrationOf({ credentials }: WorkspaceProxy): Registration | undefined {
  return "registration" in credentials ? credentials.registration : undefined;
}

/** Name of the referenced control plane, if any. */
export function controlPlaneNameOf({ credentials }: WorkspaceProxy): string | undefined {
  return credentials.kind === "controlPlane" ? credentials.name : undefined;
}

/** Location of the proxy's token. */
export function tokenKeyOf(proxy: WorkspaceProxy): SecretKey | undefined {
  const { credentials } = proxy;
  return credentials.kind === "given" ? credentials.token : registrationOf(proxy)?.token;
}

export const httpContainerPort: ContainerPort = { name: "http", containerPort: 3001, protocol: "TCP" };

const probeDefaults = { readiness: readinessProbeDefault, liveness: livenessProbeDefault };

/** Accepts any stored object, including objects stored before the CRD had defaults and validation rules. */
export const withDefaults = oncePerObject(settingsOf);

function settingsOf(stored: Stored<CoderWorkspaceProxy>): WorkspaceProxy {
  const spec: WorkspaceProxySpec = stored.spec ?? {};
  const identity = identityOf(stored);
  const pod = podSettings(spec, probeDefaults);
  const tls = pod.tlsSecretNames.length > 0;
  return {
    app: "coder-workspace-proxy",
    identity,
    labels: spec.labels ?? {},
    childName: childNameOf("coder-workspace-proxy", identity.name),
    image: trimmed(spec.image),
    replicas: spec.replicas ?? workspaceProxyDefaults.replicas,
    pod,
    derpOnly: spec.derpOnly ?? false,
    primaryAccessURL: withoutCredentials(trimmed(spec.primaryAccessURL)),
    credentials: credentials(spec, identity),
    service: serviceSettings(spec.service, { tls, target: httpContainerPort }),
    exposure: exposureOf(spec.expose),
  };
}

/**
 * Removes a user and a password from a URL stored before admission rejected them. They are not used and would
 * be visible in a status.
 */
function withoutCredentials(address: string | undefined): string | undefined {
  return address?.replace(/^([^/?#]*\/\/)[^/?#]*@/, "$1");
}

/** If several sources are set, the most automatic one applies, for compatibility. */
function credentials(spec: WorkspaceProxySpec, identity: Identity): ProxyCredentials {
  const { bootstrap } = spec;
  const controlPlane = trimmed(spec.controlPlaneRef?.name);
  if (controlPlane) {
    return {
      kind: "controlPlane",
      name: controlPlane,
      registration: registration(spec.registration, identity),
    };
  }
  const session = secretKey(bootstrap?.credentialsSecretRef, tokenSecretKey);
  if (bootstrap && session) {
    const coderURL = withoutCredentials(bootstrap.coderURL.trim()) ?? "";
    return { kind: "bootstrap", coderURL, session, registration: registration(bootstrap, identity) };
  }
  const token = secretKey(spec.proxySessionTokenSecretRef, tokenSecretKey);
  return token ? { kind: "given", token } : { kind: "none" };
}

function registration(spec: ProxyRegistration | undefined, { name }: Identity): Registration {
  const secretName = trimmed(spec?.generatedTokenSecretName);
  return {
    proxyName: trimmed(spec?.proxyName) ?? avoidReserved(name, reservedProxyNames),
    displayName: trimmed(spec?.displayName) ?? "",
    icon: trimmed(spec?.icon) ?? "",
    token: {
      name: secretName ?? shortName(name, { suffix: "-proxy-token", max: nameLength }),
      key: tokenSecretKey,
    },
  };
}
