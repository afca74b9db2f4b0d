import { isIP } from "node:net";
import { isDeepStrictEqual } from "node:util";
import type { V1ServicePort, V1ServiceSpec } from "@kubernetes/client-node";
import { controllerOf, type Service, type Wire } from "kube-controller-runtime";
import { serviceDefaults } from "../../../api/v1alpha1/defaults.ts";
import type { ServiceSpec } from "../../../api/v1alpha1/service.ts";
import { childMetadata, commonLabels, type Labels, type Parent } from "../../names.ts";
import { defined, trimmed } from "../../normalize.ts";
import { type ContainerPort, tlsPort } from "../certificates.ts";

type ServicePort = Wire<V1ServicePort>;

/** The Service of a program that serves HTTP and, optionally, TLS. */
export interface ServiceSettings {
  readonly type: string;
  readonly port: number;
  readonly annotations: Labels;
  /** Node ports in the spec. */
  readonly nodePorts: { readonly http?: number; readonly https?: number };
  /** Fields that are copied to the Service. */
  readonly verbatim: Partial<Wire<V1ServiceSpec>>;
  readonly tls: boolean;
  /** HTTP port of the pods. */
  readonly target: ContainerPort;
}

/** An object with a Service: a control plane or a workspace proxy. */
export interface WithService extends Parent {
  readonly childName: string;
  readonly service: ServiceSettings;
}

const defaultHttpPort = 80;
const defaultHttpsPort = 443;

export function serviceSettings(
  spec: ServiceSpec | undefined,
  pods: Pick<ServiceSettings, "tls" | "target">,
): ServiceSettings {
  return {
    type: trimmed(spec?.type) ?? serviceDefaults.type,
    port: spec?.port || serviceDefaults.port,
    annotations: spec?.annotations ?? {},
    nodePorts: defined({ http: spec?.httpNodePort, https: spec?.httpsNodePort }),
    verbatim: verbatim(spec ?? {}),
    ...pods,
  };
}

function verbatim(spec: ServiceSpec): ServiceSettings["verbatim"] {
  const { externalTrafficPolicy, loadBalancerSourceRanges, sessionAffinity } = spec;
  const loadBalancerClass = trimmed(spec.loadBalancerClass);
  const loadBalancerIP = trimmed(spec.loadBalancerIP);
  const given = { externalTrafficPolicy, loadBalancerClass, loadBalancerIP, loadBalancerSourceRanges };
  return defined({ ...given, sessionAffinity });
}

export function service(served: WithService): Service {
  const { childName, service: settings } = served;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: childMetadata(served, childName, settings.annotations),
    spec: {
      type: settings.type,
      selector: commonLabels(served),
      ports: servicePorts(settings),
      ...settings.verbatim,
    },
  };
}

/** The port in the spec comes first, because load balancers treat the first port as the main one. */
function servicePorts(settings: ServiceSettings): ServicePort[] {
  // Kubernetes allocates missing node ports, and the operator must not change them.
  const servicePort = (name: "http" | "https", port: number, { containerPort }: ContainerPort): ServicePort =>
    defined({ name, port, protocol: "TCP", targetPort: containerPort, nodePort: settings.nodePorts[name] });
  const http = servicePort("http", plainHttpPort(settings), settings.target);
  if (!settings.tls) return [http];
  const https = servicePort("https", defaultHttpsPort, tlsPort);
  return settings.port === defaultHttpsPort ? [https, http] : [http, https];
}

/** The HTTP port. TLS always has port 443; if the spec sets 443, HTTP uses port 80. */
export function plainHttpPort({ port, tls }: ServiceSettings): number {
  return tls && port === defaultHttpsPort ? defaultHttpPort : port;
}

/** In-cluster URL of the Service, always with a port, for the status and for requests of the operator. */
export function clusterURL(served: WithService, clusterDomain: string): string {
  const { scheme, port } = endpoint(served.service);
  return `${scheme}://${serviceHost(served, clusterDomain)}:${port}`;
}

/** In-cluster URL without the default port of the scheme, for users and cookies. */
export function clusterAccessURL(served: WithService, clusterDomain: string): string {
  const { scheme, port, impliedPort } = endpoint(served.service);
  const origin = `${scheme}://${serviceHost(served, clusterDomain)}`;
  return port === impliedPort ? origin : `${origin}:${port}`;
}

export function serviceHost({ childName, identity }: WithService, clusterDomain: string): string {
  return `${childName}.${identity.namespace}.svc.${clusterDomain}`;
}

/** The main port of the Service: TLS if enabled. */
export function endpoint({ port, tls }: ServiceSettings) {
  return tls
    ? { scheme: "https", port: defaultHttpsPort, impliedPort: defaultHttpsPort }
    : { scheme: "http", port, impliedPort: defaultHttpPort };
}

/** Whether two URLs refer to the same Service and port, ignoring the cluster domain at the time. */
export function isSameService(left: string | undefined, right: string | undefined): boolean {
  return left === right || (left !== undefined && right !== undefined && plain(left) === plain(right));
}

function plain(url: string): string {
  return url.replace(/^(https?:\/\/[a-z0-9-]+\.[a-z0-9-]+\.svc)\.[a-z0-9.-]+/, "$1");
}

/**
 * Whether the Service to which the operator sends tokens selects its own pods. Otherwise, users who can write
 * Services but not read Secrets could redirect tokens to themselves.
 */
export function selectsOwnPods(served: WithService, present: Service | undefined): boolean {
  if (!present || controllerOf(present)?.uid !== served.identity.uid) return false;
  const { type, selector } = present.spec ?? {};
  return type !== "ExternalName" && isDeepStrictEqual(selector, commonLabels(served));
}

/** IP address of a Service, which never changes. Undefined for a headless Service. */
export function clusterIPOf(present: Service | undefined): string | undefined {
  const { clusterIP } = present?.spec ?? {};
  return isIP(clusterIP ?? "") ? clusterIP : undefined;
}
