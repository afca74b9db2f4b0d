import type { V1IngressRule, V1IngressTLS } from "@kubernetes/client-node";
import type { Ingress, Wire } from "kube-controller-runtime";
import type { ExposeSpec, GatewayExposure, IngressExposure } from "../../../api/v1alpha1/expose.ts";
import { childMetadata } from "../../names.ts";
import { defined, trimmed, unlessEmpty } from "../../normalize.ts";
import type { HTTPRoute, ListenerSet, ParentReference } from "./gateway.ts";
import { plainHttpPort, type WithService } from "./service.ts";

/** Host names for users. The wildcard host is for workspace applications. */
interface Hosts {
  readonly host: string;
  readonly wildcardHost: string | undefined;
}

/** How the workload is exposed, if at all. */
export type Exposure = Readonly<
  ReturnType<typeof ingressSettings> | ReturnType<typeof gatewaySettings> | { kind: "none" }
>;

/** Admission rejects both at the same time. For stored objects with both, the Ingress applies. */
export function exposureOf(spec: ExposeSpec | undefined): Exposure {
  if (spec?.ingress) return ingressSettings(spec.ingress);
  if (spec?.gateway) return gatewaySettings(spec.gateway);
  return { kind: "none" };
}

function ingressSettings(spec: IngressExposure) {
  return {
    kind: "ingress" as const,
    ...hostsIn(spec),
    className: trimmed(spec.className),
    annotations: spec.annotations ?? {},
    secretName: trimmed(spec.tls?.secretName),
    wildcardSecretName: trimmed(spec.tls?.wildcardSecretName),
  };
}

function gatewaySettings(spec: GatewayExposure) {
  return {
    kind: "gateway" as const,
    ...hostsIn(spec),
    annotations: spec.annotations ?? {},
    parentRefs: spec.parentRefs.map(parentOf),
    httpsRedirect: spec.httpsRedirect && {
      annotations: spec.httpsRedirect.annotations ?? {},
      parentRefs: spec.httpsRedirect.parentRefs.map(parentOf),
    },
    listenerSet: spec.listenerSet,
  };
}

function parentOf({ name, namespace, sectionName, ...parent }: ParentReference): ParentReference {
  const names = { name: name.trim(), namespace: trimmed(namespace), sectionName: trimmed(sectionName) };
  return defined({ ...parent, ...names });
}

function hostsIn({ host, wildcardHost }: IngressExposure | GatewayExposure): Hosts {
  return { host: host.trim(), wildcardHost: trimmed(wildcardHost) };
}

/**
 * URL for users. TLS of a Gateway is configured at the listener, which a route does not show, so it is
 * assumed.
 */
export function exposedURL(exposure: Exposure): string | undefined {
  switch (exposure.kind) {
    case "ingress":
      return `${exposure.secretName ? "https" : "http"}://${exposure.host}`;
    case "gateway":
      return `https://${exposure.host}`;
    case "none":
      return undefined;
  }
}

/**
 * An object that can be exposed. Traffic uses the HTTP port of its Service, which ingress controllers and
 * Gateways use by default.
 */
export interface Exposed extends WithService {
  readonly exposure: Exposure;
}

/** Undefined if no Ingress must exist. */
export function ingress(exposed: Exposed): Ingress | undefined {
  const { childName, exposure } = exposed;
  if (exposure.kind !== "ingress") return undefined;
  const { annotations, className, host, secretName, wildcardHost, wildcardSecretName } = exposure;
  const tls = [...ingressTls(host, secretName), ...ingressTls(wildcardHost, wildcardSecretName)];
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: childMetadata(exposed, childName, annotations),
    spec: defined({
      ingressClassName: className,
      rules: hostsOf(exposure).map((name) => ingressRule(name, exposed)),
      tls: unlessEmpty(tls),
    }),
  };
}

function ingressRule(host: string, { childName, service }: Exposed): Wire<V1IngressRule> {
  const backend = { service: { name: childName, port: { number: plainHttpPort(service) } } };
  return { host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } };
}

function ingressTls(host: string | undefined, secretName: string | undefined): Wire<V1IngressTLS>[] {
  return host && secretName ? [{ hosts: [host], secretName }] : [];
}

/** The route to the Service, and the one that redirects HTTP to HTTPS. */
export function httpRoutes(exposed: Exposed): HTTPRoute[] {
  const { childName, exposure, service } = exposed;
  if (exposure.kind !== "gateway") return [];
  const { annotations, httpsRedirect, parentRefs } = exposure;
  const matches = [{ path: { type: "PathPrefix" as const, value: "/" } }];
  const route = (
    name: string,
    more: typeof annotations,
    spec: NonNullable<HTTPRoute["spec"]>,
  ): HTTPRoute => ({
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: childMetadata(exposed, name, more),
    spec,
  });
  const backendRefs = [{ kind: "Service" as const, name: childName, port: plainHttpPort(service) }];
  const requestRedirect = { scheme: "https" as const, statusCode: 308 };
  const filters = [{ type: "RequestRedirect" as const, requestRedirect }];
  const hostnames = hostsOf(exposure);
  const main = route(childName, annotations, { parentRefs, hostnames, rules: [{ matches, backendRefs }] });
  if (!httpsRedirect) return [main];
  const spec = { parentRefs: httpsRedirect.parentRefs, hostnames, rules: [{ matches, filters }] };
  return [main, route(`${childName}-https-redirect`, httpsRedirect.annotations, spec)];
}

/** Undefined if no ListenerSet must exist. */
export function listenerSet(exposed: Exposed): ListenerSet | undefined {
  const { childName, exposure } = exposed;
  if (exposure.kind !== "gateway" || !exposure.listenerSet) return undefined;
  const { annotations, listeners, parentRef } = exposure.listenerSet;
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "ListenerSet",
    metadata: childMetadata(exposed, childName, annotations),
    spec: { parentRef, listeners },
  };
}

function hostsOf({ host, wildcardHost }: Hosts): string[] {
  return wildcardHost && wildcardHost !== host ? [host, wildcardHost] : [host];
}
