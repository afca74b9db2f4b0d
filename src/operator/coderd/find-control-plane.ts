import { isDeepStrictEqual } from "node:util";
import {
  blocked,
  type Change,
  contentChanged,
  controllerOf,
  findCondition,
  type Kind,
  type KubeObject,
  keyOf,
  keyOfObject,
  type ObjectKey,
  type RunContext,
  Service,
  type StepResult,
  type Stored,
  UNREPORTED,
} from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { controlPlaneConditions } from "../conditions.ts";
import { childNameOf } from "../names.ts";
import { trimmed } from "../normalize.ts";
import { clusterIPOf, clusterURL, selectsOwnPods } from "../workload/exposure/service.ts";
import type { CoderPorts } from "./ports.ts";
import { type ControlPlane, withDefaults } from "./settings.ts";

/* Finds the control plane of provisioners and workspace proxies. */

type Caches = RunContext["caches"];

/** Interval to check for a missing Service, which is not watched for this purpose. */
const SERVICE_RETRY_MS = 30_000;

/**
 * Status fields of a control plane that dependents read, or that indicate a change of coderd, such as the
 * number of ready pods. Other changes do not trigger a reconcile of dependents.
 */
const readFields = [
  "entitlementsLastChecked",
  "externalProvisionerDaemonsEntitlement",
  "image",
  "licenseLastAppliedHash",
  "licenseTier",
  "observedGeneration",
  "operatorAccessReady",
  "operatorTokenSecretRef",
  "phase",
  "readyReplicas",
  "upgrade",
  "url",
  "version",
] as const satisfies readonly (keyof ControlPlaneStatus)[];

/** Of the conditions, only the reason for missing access. */
type ReadStatus = Pick<ControlPlaneStatus, (typeof readFields)[number] | "conditions">;

/** A control plane as observed by a dependent. */
export interface ObservedControlPlane {
  readonly settings: ControlPlane;
  readonly status: ReadStatus;
  readonly isTerminating: boolean;
  /** Whether its pods serve the current spec. */
  readonly isRolledOut: boolean;
  /** Whether its Service selects its pods. */
  readonly serviceSelectsPods: boolean;
  /** IP address of the Service. */
  readonly clusterIP: string | undefined;
  /** Changes with every change of the control plane that dependents need. */
  readonly resourceVersion: string;
}

/** A control plane that requests can be sent to. */
export interface FoundControlPlane extends ObservedControlPlane {
  /** Computed from the spec, because users who can write a status must not choose where tokens are sent. */
  readonly url: string;
}

/** Index of objects by their control plane, `namespace/name`. */
export const CONTROL_PLANE_INDEX = "controlPlane";

interface NamesControlPlane extends KubeObject {
  spec?: { controlPlaneRef?: { name?: string } };
}

/** For the index of a kind whose objects may refer to a control plane in their namespace. */
export function namedControlPlane({ metadata, spec }: Stored<NamesControlPlane>): string[] {
  const name = trimmed(spec?.controlPlaneRef?.name);
  return name ? [keyOf({ namespace: metadata.namespace, name })] : [];
}

/** For `watches`: the indexed objects of a kind that refer to a control plane. */
export function objectsNaming<T extends KubeObject>(kind: Kind<T>) {
  return (controlPlane: Stored<CoderControlPlane>, caches: Caches): ObjectKey[] =>
    caches.of(kind).byIndex(CONTROL_PLANE_INDEX, keyOfObject(controlPlane)).map(keyOfObject);
}

/**
 * For `watches`: the objects whose control plane owns a Service. Their pods may use its IP address. Before the control
 * plane has reported, they wait for its report.
 */
export function objectsBehindService<T extends KubeObject>(kind: Kind<T>) {
  return (service: Stored<Service>, caches: Caches): ObjectKey[] => {
    const owner = controllerOf(service);
    if (owner?.kind !== CoderControlPlane.kind) return [];
    const key = keyOf({ namespace: service.metadata.namespace, name: owner.name });
    if (!hasReported(caches.of(CoderControlPlane).get(key)?.status)) return [];
    return caches.of(kind).byIndex(CONTROL_PLANE_INDEX, key).map(keyOfObject);
  };
}

/** For `watches`: a Service was assigned an IP address, which never changes. */
export function addressAssigned({ type, object, previous }: Change<Service>): boolean {
  return type !== "deleted" && clusterIPOf(object) !== clusterIPOf(previous);
}

/** For `watches`: ignores a control plane before its first status. */
export function controlPlaneReported(change: Change<CoderControlPlane>): boolean {
  const { type, object, previous } = change;
  if (type !== "updated" || !previous) return true;
  if (object.metadata.generation !== previous.metadata.generation) return true;
  if (!hasReported(object.status) && !hasReported(previous.status)) return false;
  return contentChanged(change) || !isDeepStrictEqual(factsOf(previous), factsOf(object));
}

function factsOf(controlPlane: Stored<CoderControlPlane>): readonly unknown[] {
  const { status = {} } = controlPlane;
  return [accessProblem(status), isRolledOut(controlPlane), ...readFields.map((field) => status[field])];
}

function isRolledOut({ metadata, status }: Stored<CoderControlPlane>): boolean {
  const deployment = findCondition(status?.conditions, controlPlaneConditions.deployment.type);
  // During a conflict, the Deployment keeps an earlier spec.
  const conflict = findCondition(status?.conditions, controlPlaneConditions.conflict.type);
  const isCurrent = deployment?.observedGeneration === metadata.generation && conflict?.status !== "True";
  return isCurrent && deployment?.status === "True";
}

/** The message of the access condition while the operator has no access. */
export function accessProblem({ conditions }: Pick<ControlPlaneStatus, "conditions">): string | undefined {
  const access = findCondition(conditions, controlPlaneConditions.access.type);
  return access?.status === "True" ? undefined : access?.message;
}

function hasReported(status: ControlPlaneStatus = {}): boolean {
  return status.observedGeneration !== undefined || status.url !== undefined;
}

/** For `observe`: the control plane with this name, from the caches. */
export function observeControlPlane(
  { namespace, name }: { readonly namespace: string; readonly name: string | undefined },
  caches: Caches,
): ObservedControlPlane | undefined {
  const object = name ? caches.of(CoderControlPlane).get(keyOf({ namespace, name })) : undefined;
  if (!object) return undefined;
  const settings = withDefaults(object);
  const service = controlPlaneService({ namespace, name }, caches);
  return {
    settings,
    status: object.status ?? {},
    isTerminating: object.metadata.deletionTimestamp !== undefined,
    isRolledOut: isRolledOut(object),
    serviceSelectsPods: selectsOwnPods(settings, service),
    clusterIP: clusterIPOf(service),
    resourceVersion: object.metadata.resourceVersion,
  };
}

/**
 * For `observe`: the Service with the name of the control plane's, even if the control plane does not exist.
 */
export function controlPlaneService(
  { namespace, name }: { readonly namespace: string; readonly name: string | undefined },
  caches: Caches,
): Stored<Service> | undefined {
  if (!name) return undefined;
  return caches.of(Service).get(keyOf({ namespace, name: childNameOf("coder-control-plane", name) }));
}

/** Result of the step that finds the control plane `name`. `observed` is undefined if it does not exist. */
export function findControlPlane(
  { namespace, name }: { readonly namespace: string; readonly name: string | undefined },
  observed: ObservedControlPlane | undefined,
  { clusterDomain }: Pick<CoderPorts, "clusterDomain">,
): StepResult<object, FoundControlPlane> {
  if (!name)
    return blocked(
      "NotConfigured",
      "spec.controlPlaneRef.name is not set; set it to the name of a CoderControlPlane.",
    );
  if (!observed) {
    const message = `CoderControlPlane "${name}" does not exist in namespace "${namespace}"; create it or correct spec.controlPlaneRef.name.`;
    return blocked("NotFound", message);
  }
  if (!hasReported(observed.status))
    return blocked(UNREPORTED, `Waiting for the first status of the new CoderControlPlane "${name}".`);
  if (!observed.status.url)
    return blocked("Pending", `Waiting for CoderControlPlane "${name}" to report its URL.`);
  if (!observed.serviceSelectsPods) {
    const message = `Service "${observed.settings.childName}" of CoderControlPlane "${name}" does not exist or selects other pods; see the conditions of the control plane.`;
    return blocked("ServiceNotOurs", message, { requeueAfterMs: SERVICE_RETRY_MS });
  }
  const url = clusterURL(observed.settings, clusterDomain);
  const message = `CoderControlPlane "${name}" is at ${url}.`;
  return { condition: { status: "True", reason: "Found", message }, value: { ...observed, url } };
}
