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

/** The Service in front of a program that serves HTTP and, if asked to, TLS beside it. */
export interface ServiceSettings {
  readonly type: string;
  readonly port: number;
  readonly annotations: Labels;
  /** Ports of nodes that the user chose. */
  readonly nodePorts: { readonly http?: number; readonly https?: number };
  /** What goes into the Service as it is. */
  readonly verbatim: Partial<Wire<V1ServiceSpec>>;
  readonly tls: boolean;
  /** Where the pods serve HTTP. */
  readonly target: ContainerPort;
}

/** An object of ours with a Service: coderd or a workspace proxy. */
export interface Served extends Parent {
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

export function service(served: Served): Service {
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

/** The port that the user chose comes first: load balancers take that one for the main port. */
function servicePorts(settings: ServiceSettings): ServicePort[] {
  // A port of nodes that is not given is Kubernetes' to choose, and nobody's to change.
  const servicePort = (name: "http" | "https", port: number, { containerPort }: ContainerPort): ServicePort =>
    defined({ name, port, protocol: "TCP", targetPort: containerPort, nodePort: settings.nodePorts[name] });
  const http = servicePort("http", plainHttpPort(settings), settings.target);
  if (!settings.tls) return [http];
  const https = servicePort("https", defaultHttpsPort, tlsPort);
  return settings.port === defaultHttpsPort ? [https, http] : [http, https];
}

/** The port that speaks plain HTTP. TLS has 443 to itself, also when the user chose it: HTTP then moves to 80. */
export function plainHttpPort({ port, tls }: ServiceSettings): number {
  return tls && port === defaultHttpsPort ? defaultHttpPort : port;
}

/** URL of the Service inside the cluster, always with its port: what status shows and the operator calls. */
export function clusterURL(served: Served, clusterDomain: string): string {
  const { scheme, port } = endpoint(served.service);
  return `${scheme}://${serviceHost(served, clusterDomain)}:${port}`;
}

/** The same for people and cookies: without a port that the scheme implies. */
export function clusterAccessURL(served: Served, clusterDomain: string): string {
  const { scheme, port, impliedPort } = endpoint(served.service);
  const origin = `${scheme}://${serviceHost(served, clusterDomain)}`;
  return port === impliedPort ? origin : `${origin}:${port}`;
}

export function serviceHost({ childName, identity }: Served, clusterDomain: string): string {
  return `${childName}.${identity.namespace}.svc.${clusterDomain}`;
}

/** What the Service answers to first: TLS where there is any. */
export function endpoint({ port, tls }: ServiceSettings) {
  return tls
    ? { scheme: "https", port: defaultHttpsPort, impliedPort: defaultHttpsPort }
    : { scheme: "http", port, impliedPort: defaultHttpPort };
}

/**
 * Whether two URLs lead to the same Service and port, under whichever domain the operator knew the cluster when it
 * wrote them down.
 */
export function isSameService(left: string | undefined, right: string | undefined): boolean {
  return left === right || (left !== undefined && right !== undefined && plain(left) === plain(right));
}

function plain(url: string): string {
  return url.replace(/^(https?:\/\/[a-z0-9-]+\.[a-z0-9-]+\.svc)\.[a-z0-9.-]+/, "$1");
}

/**
 * Whether the Service that the operator sends tokens to leads to our own pods. Whoever may write Services, but not
 * read Secrets, could otherwise have the tokens sent to a Service of theirs.
 */
export function leadsToOurPods(served: Served, present: Service | undefined): boolean {
  if (!present || controllerOf(present)?.uid !== served.identity.uid) return false;
  const { type, selector } = present.spec ?? {};
  return type !== "ExternalName" && isDeepStrictEqual(selector, commonLabels(served));
}

/** The address of a Service, which it keeps as long as it lives; a headless one has none. */
export function clusterIPOf(present: Service | undefined): string | undefined {
  const { clusterIP } = present?.spec ?? {};
  return isIP(clusterIP ?? "") ? clusterIP : undefined;
}
