import type { V1IngressRule, V1IngressTLS } from "@kubernetes/client-node";
import type { ExposeSpec, GatewayExposure, IngressExposure } from "../../api/v1alpha1/common.ts";
import type { Ingress } from "../../runtime/kinds.ts";
import type { ObjectMeta, Wire } from "../../runtime/object.ts";
import type { HTTPRoute, ParentReference } from "./gateway.ts";
import type { Labels } from "./names.ts";
import { defined, trimmed, unlessEmpty } from "./normalise.ts";

/** The host names under which users come in; the wildcard host is for workspace applications. */
interface Hosts {
  readonly host: string;
  readonly wildcardHost: string | undefined;
}

export interface IngressSettings extends Hosts {
  readonly kind: "ingress";
  readonly className: string | undefined;
  readonly annotations: Labels;
  readonly secretName: string | undefined;
  readonly wildcardSecretName: string | undefined;
}

export interface GatewaySettings extends Hosts {
  readonly kind: "gateway";
  readonly parentRefs: readonly ParentReference[];
}

/** One way out of the cluster, or none. */
export type Exposure = IngressSettings | GatewaySettings | { readonly kind: "none" };

/** Admission lets nobody ask for both ways; an object that was stored with both gets the Ingress. */
export function exposureOf(spec: ExposeSpec | undefined): Exposure {
  if (spec?.ingress) return ingressSettings(spec.ingress);
  if (spec?.gateway) return gatewaySettings(spec.gateway);
  return { kind: "none" };
}

function ingressSettings(spec: IngressExposure): IngressSettings {
  return {
    kind: "ingress",
    host: spec.host.trim(),
    wildcardHost: trimmed(spec.wildcardHost),
    className: trimmed(spec.className),
    annotations: spec.annotations ?? {},
    secretName: trimmed(spec.tls?.secretName),
    wildcardSecretName: trimmed(spec.tls?.wildcardSecretName),
  };
}

function gatewaySettings(spec: GatewayExposure): GatewaySettings {
  return {
    kind: "gateway",
    host: spec.host.trim(),
    wildcardHost: trimmed(spec.wildcardHost),
    parentRefs: spec.parentRefs.map(({ name, namespace, sectionName }) =>
      defined({ name: name.trim(), namespace: trimmed(namespace), sectionName: trimmed(sectionName) }),
    ),
  };
}

/** Where requests go: the plain HTTP port of a Service, which every ingress controller and Gateway speaks. */
export interface Backend {
  readonly serviceName: string;
  readonly port: number;
}

export function ingress(metadata: ObjectMeta, settings: IngressSettings, backend: Backend): Ingress {
  const { className, host, secretName, wildcardHost, wildcardSecretName } = settings;
  const tls = [...ingressTls(host, secretName), ...ingressTls(wildcardHost, wildcardSecretName)];
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata,
    spec: defined({
      ingressClassName: className,
      rules: hostsOf(settings).map((name) => ingressRule(name, backend)),
      tls: unlessEmpty(tls),
    }),
  };
}

function ingressRule(host: string, { serviceName, port }: Backend): Wire<V1IngressRule> {
  const backend = { service: { name: serviceName, port: { number: port } } };
  return { host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } };
}

function ingressTls(host: string | undefined, secretName: string | undefined): Wire<V1IngressTLS>[] {
  return host && secretName ? [{ hosts: [host], secretName }] : [];
}

export function httpRoute(metadata: ObjectMeta, settings: GatewaySettings, backend: Backend): HTTPRoute {
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata,
    spec: {
      parentRefs: [...settings.parentRefs],
      hostnames: hostsOf(settings),
      rules: [
        {
          matches: [{ path: { type: "PathPrefix", value: "/" } }],
          backendRefs: [{ kind: "Service", name: backend.serviceName, port: backend.port }],
        },
      ],
    },
  };
}

function hostsOf({ host, wildcardHost }: Hosts): string[] {
  return wildcardHost && wildcardHost !== host ? [host, wildcardHost] : [host];
}
