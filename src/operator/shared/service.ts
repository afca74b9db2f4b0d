import type { V1ServicePort } from "@kubernetes/client-node";
import type { ServiceSpec } from "../../api/v1alpha1/common.ts";
import { serviceDefaults } from "../../api/v1alpha1/defaults.ts";
import type { Service } from "../../runtime/kinds.ts";
import type { ObjectMeta, Wire } from "../../runtime/object.ts";
import { type ContainerPort, tlsPort } from "./certificates.ts";
import type { Labels } from "./names.ts";
import { trimmed } from "./normalise.ts";

type ServicePort = Wire<V1ServicePort>;

/** The Service in front of a program that serves HTTP and, if asked to, TLS beside it. */
export interface ServiceSettings {
  readonly type: string;
  readonly port: number;
  readonly annotations: Labels;
  readonly tls: boolean;
}

const defaultHttpPort = 80;
const defaultHttpsPort = 443;

export function serviceSettings(
  spec: ServiceSpec | undefined,
  { tls }: { readonly tls: boolean },
): ServiceSettings {
  return {
    type: trimmed(spec?.type) ?? serviceDefaults.type,
    port: spec?.port || serviceDefaults.port,
    annotations: spec?.annotations ?? {},
    tls,
  };
}

export function service(
  metadata: ObjectMeta,
  settings: ServiceSettings,
  { selector, http }: { readonly selector: Labels; readonly http: ContainerPort },
): Service {
  const ports = [servicePort("http", plainHttpPort(settings), http)];
  if (settings.tls) ports.push(servicePort("https", defaultHttpsPort, tlsPort));
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec: { type: settings.type, selector: { ...selector }, ports: chosenPortFirst(ports, settings) },
  };
}

/**
 * The port that speaks plain HTTP. With TLS, 443 is taken by that, also when it is the port that the user
 * chose: HTTP then moves to 80.
 */
export function plainHttpPort({ port, tls }: ServiceSettings): number {
  return tls && port === defaultHttpsPort ? defaultHttpPort : port;
}

/** Load balancers take the first port for the main one. */
function chosenPortFirst(ports: readonly ServicePort[], { port }: ServiceSettings): ServicePort[] {
  return [...ports].sort((a, b) => Number(b.port === port) - Number(a.port === port));
}

function servicePort(name: string, port: number, target: ContainerPort): ServicePort {
  return { name, port, protocol: "TCP", targetPort: target.containerPort };
}

/** A Service by the name that pods of the cluster resolve. */
export interface ServiceAddress extends Pick<ServiceSettings, "port" | "tls"> {
  readonly name: string;
  readonly namespace: string;
}

/** URL of a Service inside the cluster, with its port. */
export function clusterURL(address: ServiceAddress): string {
  const { scheme, host, port } = endpoint(address);
  return `${scheme}://${host}:${port}`;
}

/** The same for people and cookies: without a port that the scheme implies. */
export function clusterAccessURL(address: ServiceAddress): string {
  const { scheme, host, port } = endpoint(address);
  const implied = scheme === "https" ? defaultHttpsPort : defaultHttpPort;
  return port === implied ? `${scheme}://${host}` : `${scheme}://${host}:${port}`;
}

function endpoint({ name, namespace, port, tls }: ServiceAddress) {
  const host = `${name}.${namespace}.svc.cluster.local`;
  return tls ? { scheme: "https", host, port: defaultHttpsPort } : { scheme: "http", host, port };
}
