import {
  applied,
  blocked,
  type Children,
  Ingress,
  isNotFound,
  notRequested,
  type Owner,
  type StepResult,
} from "kube-controller-runtime";
import { type Exposed, httpRoute, ingress } from "./expose.ts";
import { HTTPRoute } from "./gateway.ts";
import { missingIngressClass } from "./ingress-class.ts";

/** How soon an object asks again for the Gateway API that it needs; while the API is missing that costs no request. */
const GATEWAY_RETRY_MS = 2_000;

interface Surroundings {
  readonly owner: Owner;
  readonly isRouteServed: boolean;
  /** Absent where the operator may not read them. */
  readonly ingressClasses: readonly string[] | undefined;
}

/**
 * Keeps the Ingress or the HTTPRoute that the spec asks for, and removes the one that it does not. Who changes
 * from one to the other has the new way in before the old one is taken away.
 */
export async function ensureExposure(
  { owner, isRouteServed, ingressClasses }: Surroundings,
  { children }: { readonly children: Pick<Children, "apply" | "converge"> },
  exposed: Exposed,
): Promise<StepResult<object>> {
  const wantedIngress = ingress(exposed);
  const wantedRoute = httpRoute(exposed);
  if (wantedRoute && !isRouteServed) return gatewayApiMissing;
  try {
    if (wantedRoute) await children.apply(HTTPRoute, wantedRoute, owner);
  } catch (error) {
    if (isNotFound(error)) return gatewayApiMissing;
    throw error;
  }
  await children.converge(Ingress, wantedIngress ? [wantedIngress] : [], owner);
  await children.converge(HTTPRoute, wantedRoute ? [wantedRoute] : [], owner);
  const { exposure } = exposed;
  if (exposure.kind === "none")
    return notRequested("spec.expose asks for neither an Ingress nor an HTTPRoute.");
  const missing = exposure.kind === "ingress" && missingIngressClass(exposure.className, ingressClasses);
  if (missing) return blocked("IngressClassMissing", missing);
  return applied(
    `${exposure.kind === "ingress" ? "Ingress" : "HTTPRoute"} for host "${exposure.host}" is in place.`,
  );
}

const gatewayApiMissing = blocked(
  "GatewayAPIMissing",
  "This cluster does not serve gateway.networking.k8s.io/v1 HTTPRoute; install the Gateway API or use spec.expose.ingress.",
  { requeueAfterMs: GATEWAY_RETRY_MS },
);
