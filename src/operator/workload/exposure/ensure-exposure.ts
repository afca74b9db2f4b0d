import {
  applied,
  blocked,
  type Children,
  Ingress,
  isNotFound,
  type Kind,
  notRequested,
  type Owner,
  type StepResult,
} from "kube-controller-runtime";
import { type Exposed, httpRoutes, ingress, listenerSet } from "./expose.ts";
import { HTTPRoute, ListenerSet } from "./gateway.ts";
import { missingIngressClass } from "./ingress-class.ts";

/** Polling interval for missing Gateway API kinds. It causes no requests while they are missing. */
const GATEWAY_RETRY_MS = 2_000;

interface ExposureContext {
  readonly owner: Owner;
  readonly missingGatewayKind: Kind | undefined;
  /** Absent if the operator is not permitted to read them. */
  readonly ingressClasses: readonly string[] | undefined;
}

/**
 * Applies the Ingress or the Gateway API objects in the spec, and deletes the others. When the spec changes
 * between both, the new ones are created before the old ones are deleted.
 */
export async function ensureExposure(
  { owner, missingGatewayKind, ingressClasses }: ExposureContext,
  { children }: { readonly children: Pick<Children, "apply" | "converge"> },
  exposed: Exposed,
): Promise<StepResult<object>> {
  const wantedIngress = ingress(exposed);
  const wantedListeners = listenerSet(exposed);
  const wantedRoutes = httpRoutes(exposed);
  if (missingGatewayKind) return gatewayApiMissing(missingGatewayKind);
  try {
    if (wantedListeners) await children.apply(ListenerSet, wantedListeners, owner);
    for (const route of wantedRoutes) await children.apply(HTTPRoute, route, owner);
  } catch (error) {
    if (isNotFound(error)) return gatewayApiMissing(wantedListeners ? ListenerSet : HTTPRoute);
    throw error;
  }
  await children.converge(Ingress, wantedIngress ? [wantedIngress] : [], owner);
  await children.converge(HTTPRoute, wantedRoutes, owner);
  await children.converge(ListenerSet, wantedListeners ? [wantedListeners] : [], owner);
  const { exposure } = exposed;
  if (exposure.kind === "none")
    return notRequested("spec.expose configures neither an Ingress nor a Gateway.");
  const missing = exposure.kind === "ingress" && missingIngressClass(exposure.className, ingressClasses);
  if (missing) return blocked("IngressClassMissing", missing);
  return applied(
    `${exposure.kind === "ingress" ? "Ingress" : "HTTPRoute"} for host "${exposure.host}" exists.`,
  );
}

function gatewayApiMissing({ kind }: Kind): StepResult<object, never> {
  const advice =
    kind === ListenerSet.kind
      ? "install Gateway API 1.5 or later, or remove spec.expose.gateway.listenerSet."
      : "install the Gateway API or use spec.expose.ingress.";
  const message = `The cluster does not serve gateway.networking.k8s.io/v1 ${kind}; ${advice}`;
  return blocked("GatewayAPIMissing", message, { requeueAfterMs: GATEWAY_RETRY_MS });
}
