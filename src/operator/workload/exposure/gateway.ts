import { type Caches, type KubeObject, kind } from "kube-controller-runtime";

/*
 * What we write of the Gateway API's HTTPRoute. Its types come with no package that we have, and the rest of
 * it, defaults included, is for the API server to fill in.
 */

export interface ParentReference {
  name: string;
  namespace?: string;
  sectionName?: string;
}

interface HTTPRouteRule {
  matches: { path: { type: "PathPrefix"; value: string } }[];
  backendRefs: { kind: "Service"; name: string; port: number }[];
}

export interface HTTPRoute extends KubeObject {
  spec?: { parentRefs: ParentReference[]; hostnames: string[]; rules: HTTPRouteRule[] };
}

export const HTTPRoute = kind<HTTPRoute>("gateway.networking.k8s.io/v1", {
  kind: "HTTPRoute",
  plural: "httproutes",
});

/** Whether the cluster has HTTPRoutes; an object that wants one has the operator look for them again soon. */
export function isRouteServed({ kind }: { readonly kind: string }, caches: Caches): boolean {
  const routes = caches.of(HTTPRoute);
  if (kind === "gateway" && !routes.served) routes.seek();
  return routes.served;
}
