import { type Caches, type Kind, type KubeObject, kind } from "kube-controller-runtime";

/*
 * The fields of the Gateway API that the operator sets. No dependency contains its types, and the API server
 * applies the defaults of other fields.
 */

export interface ParentReference {
  kind?: "Gateway" | "ListenerSet";
  name: string;
  namespace?: string;
  port?: number;
  sectionName?: string;
}

interface HTTPRouteRule {
  matches: { path: { type: "PathPrefix"; value: string } }[];
  backendRefs?: { kind: "Service"; name: string; port: number }[];
  filters?: { type: "RequestRedirect"; requestRedirect: { scheme: "https"; statusCode: number } }[];
}

export interface HTTPRoute extends KubeObject {
  spec?: { parentRefs: ParentReference[]; hostnames: string[]; rules: HTTPRouteRule[] };
}

export const HTTPRoute = kind<HTTPRoute>("gateway.networking.k8s.io/v1", {
  kind: "HTTPRoute",
  plural: "httproutes",
});

interface Listener {
  name: string;
  hostname?: string;
  port: number;
  protocol: "HTTP" | "HTTPS";
  tls?: { certificateRefs: { name: string; namespace?: string }[] };
}

export interface ListenerSet extends KubeObject {
  spec?: { parentRef: ParentReference; listeners: Listener[] };
}

export const ListenerSet = kind<ListenerSet>("gateway.networking.k8s.io/v1", {
  kind: "ListenerSet",
  plural: "listenersets",
});

interface Asked {
  readonly kind: string;
  readonly listenerSet?: object | undefined;
}

/** A kind that the exposure needs and the cluster lacks. It is checked again soon. */
export function missingGatewayKind(asked: Asked, caches: Caches): Kind | undefined {
  if (asked.kind !== "gateway") return undefined;
  const needed: readonly Kind[] = asked.listenerSet ? [HTTPRoute, ListenerSet] : [HTTPRoute];
  const missing = needed.filter((each) => !caches.of(each).available);
  for (const each of missing) caches.of(each).markInUse();
  return missing[0];
}
