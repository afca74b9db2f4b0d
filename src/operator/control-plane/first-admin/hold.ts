import { blocked } from "kube-controller-runtime";
import { serviceDefaults } from "../../../api/v1alpha1/defaults.ts";
import { AWAITS_FIRST_ADMIN } from "../../conditions.ts";
import { ensureExposure } from "../../workload/exposure/ensure-exposure.ts";
import { ensureService, type ServiceState } from "../../workload/exposure/ensure-service.ts";
import type { ServiceSettings } from "../../workload/exposure/service.ts";
import type { Environment, Snapshot } from "../observe.ts";
import type { ControlPlaneResult } from "../status.ts";

/*
 * The first person who reaches a coderd without users becomes its owner. So the operator does not expose a new coderd
 * before it has its first admin. Existing exposure stays: it may be in use.
 */

/** Converges the Ingress or the routes, but creates none before coderd has its first admin. */
export async function exposeAfterFirstAdmin(
  snapshot: Snapshot,
  environment: Environment,
): Promise<ControlPlaneResult> {
  const { awaitsFirstAdmin, controlPlane, isExposed } = snapshot;
  if (!awaitsFirstAdmin || isExposed || controlPlane.exposure.kind === "none")
    return ensureExposure(snapshot, environment, controlPlane);
  const object = controlPlane.exposure.kind === "ingress" ? "The Ingress" : "The HTTPRoute";
  return blocked(AWAITS_FIRST_ADMIN, `${object} ${WAITS}`);
}

/** Converges the Service, with type ClusterIP before coderd has its first admin. */
export async function serveAfterFirstAdmin(
  snapshot: Snapshot,
  environment: Environment,
): Promise<ControlPlaneResult<ServiceState>> {
  const { awaitsFirstAdmin, controlPlane, service: present } = snapshot;
  const { type } = controlPlane.service;
  const isInside = (present?.spec?.type ?? serviceDefaults.type) === serviceDefaults.type;
  if (!awaitsFirstAdmin || type === serviceDefaults.type || !isInside)
    return ensureService(snapshot, environment, controlPlane);
  const inside = { ...controlPlane, service: insideOf(controlPlane.service), deferAdoption: true };
  const result = await ensureService(snapshot, environment, inside);
  // A Service that is handed over may already expose other pods.
  if (!result.value) return ensureService(snapshot, environment, controlPlane);
  const message = `Service "${controlPlane.childName}" has type ${serviceDefaults.type}. Type ${type} ${WAITS}`;
  return { ...result, ...blocked(AWAITS_FIRST_ADMIN, message) };
}

const WAITS = "waits until condition FirstAdminReady is True.";

/** Removes the settings that a Service of type ClusterIP cannot have. */
function insideOf({ verbatim, ...settings }: ServiceSettings): ServiceSettings {
  const { sessionAffinity } = verbatim;
  return {
    ...settings,
    type: serviceDefaults.type,
    nodePorts: {},
    verbatim: sessionAffinity === undefined ? {} : { sessionAffinity },
  };
}
