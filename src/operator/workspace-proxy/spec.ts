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

/** How the proxy presents itself at coderd, and where its token is kept. */
export interface Registration {
  readonly proxyName: string;
  readonly displayName: string;
  readonly icon: string;
  readonly token: SecretKey;
}

/** How the proxy comes by its session token. `none` is an object from before admission asked for one. */
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
 * A workspace proxy with every default filled in and every name trimmed. `childName` is that of the
 * Deployment, the Service and the exposure.
 */
export interface WorkspaceProxy extends Exposed {
  readonly app: "coder-workspace-proxy";
  /** Absent means the image of the control plane that the proxy belongs to, else the default image. */
  readonly image: string | undefined;
  readonly replicas: number;
  readonly pod: PodSettings;
  readonly derpOnly: boolean;
  /** Absent means what coderd calls itself. */
  readonly primaryAccessURL: string | undefined;
  readonly credentials: ProxyCredentials;
}

/** How the operator registers the proxy; absent when that is not for it to do. */
export function registrationOf({ credentials }: WorkspaceProxy): Registration | undefined {
  return "registration" in credentials ? credentials.registration : undefined;
}

/** The control plane that the spec names, if it names one. */
export function controlPlaneNameOf({ credentials }: WorkspaceProxy): string | undefined {
  return credentials.kind === "controlPlane" ? credentials.name : undefined;
}

/** Where the proxy's token is, or will be. */
export function tokenKeyOf(proxy: WorkspaceProxy): SecretKey | undefined {
  const { credentials } = proxy;
  return credentials.kind === "given" ? credentials.token : registrationOf(proxy)?.token;
}

export const httpContainerPort: ContainerPort = { name: "http", containerPort: 3001, protocol: "TCP" };

const probeDefaults = { readiness: readinessProbeDefault, liveness: livenessProbeDefault };

/** Takes any stored object, also one from before the CRD had defaults and rules. */
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
 * A user and a password in a URL, which admission refuses by now, are used by nobody and would be seen in a status.
 */
function withoutCredentials(address: string | undefined): string | undefined {
  return address?.replace(/^([^/?#]*\/\/)[^/?#]*@/, "$1");
}

/** Of several ways the most automatic one wins, as it always has with bootstrap and a given token. */
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
