import {
  type Condition,
  type CoreEvent,
  findCondition,
  type Pod,
  type Stored,
} from "kube-controller-runtime";
import {
  autoscalingDefaults,
  insideDefaults,
  provisionerDefaults,
  workspaceProxyDefaults,
} from "../../../api/v1alpha1/defaults.ts";
import type {
  CoderControlPlane,
  CoderGroup,
  CoderProvisioner,
  CoderWorkspaceProxy,
} from "../../../api/v1alpha1/kinds.ts";
import { type EntityObject, entityNameOf } from "../../../operator/inside/object.ts";
import { defined } from "../../../operator/normalize.ts";
import { isPaused } from "../../../operator/pause.ts";
import { BUSY_MARKS, isReadyPod, isSteadyPod } from "../../../operator/workload/pods/owned-pods.ts";
import { podProblem } from "../../../operator/workload/pods/pod-problem.ts";
import { typedName } from "../../objects.ts";
import { poolActivity, type QueueObservation } from "./queues.ts";
import type { EntityReport, EventReport, PoolReport, ProxyReport, State } from "./report.ts";

export function stateOf(conditions: readonly Condition[] | undefined, type: string): State | undefined {
  const found = findCondition(conditions, type);
  return found && { status: found.status, reason: found.reason, message: found.message };
}

/** The sources for the numbers of a pool. */
interface PoolSources {
  /** The pods of the pool; absent if they could not be read. */
  readonly pods: readonly Stored<Pod>[] | undefined;
  /** The queue of its organization; absent if coderd was not asked. */
  readonly queue: QueueObservation | undefined;
  readonly now: number;
}

/** A pool with the numbers from coderd, its status and the annotations of its pods. */
export function poolReport(object: Stored<CoderProvisioner>, sources: PoolSources): PoolReport {
  const steady = sources.pods?.filter((pod) => isSteadyPod(pod, sources.now));
  const { spec, status, metadata } = object;
  const { autoscaling } = spec ?? {};
  const limits =
    autoscaling && `${autoscaling.minReplicas ?? autoscalingDefaults.minReplicas}-${autoscaling.maxReplicas}`;
  const organization = status?.organizationName ?? spec?.organizationName;
  return {
    name: metadata.name,
    ready: stateOf(status?.conditions, "Ready"),
    paused: isPaused(object),
    daemons: status?.readyReplicas ?? 0,
    wanted: status?.desiredReplicas ?? spec?.replicas ?? provisionerDefaults.replicas,
    ...reported(object, sources),
    ...(sources.queue ? poolActivity(sources.queue, object, steady) : {}),
    ...defined({ limits, organization: organization || undefined }),
    tags: spec?.tags ?? {},
  };
}

/**
 * The numbers that the operator publishes for a pool that follows the queue: annotations of pods, and fields
 * of the status.
 */
function reported(
  { spec, status }: Stored<CoderProvisioner>,
  { pods, now }: Pick<PoolSources, "pods" | "now">,
) {
  if (!spec?.autoscaling) return {};
  const isFailing = (pod: Stored<Pod>) => podProblem(pod, now)?.kind === "found";
  const busy = pods?.filter((pod) => isBusy(pod) && !isFailing(pod)).length;
  const unsteady = pods?.filter((pod) => isReadyPod(pod) && isFailing(pod)).length ?? 0;
  const idle = busy === undefined ? undefined : Math.max(0, (status?.readyReplicas ?? 0) - unsteady - busy);
  return defined({ busy, idle, pending: status?.pendingBuilds });
}

/** The operator annotates the pods of busy daemons. */
function isBusy({ metadata: { annotations = {} } }: Stored<Pod>): boolean {
  return Object.entries(BUSY_MARKS).some(([name, value]) => annotations[name] === value);
}

export function proxyReport(object: Stored<CoderWorkspaceProxy>): ProxyReport {
  const { spec, status, metadata } = object;
  const host = spec?.expose?.ingress?.host ?? spec?.expose?.gateway?.host;
  return {
    name: metadata.name,
    ready: stateOf(status?.conditions, "Ready"),
    paused: isPaused(object),
    pods: status?.readyReplicas ?? 0,
    wanted: spec?.replicas ?? workspaceProxyDefaults.replicas,
    ...defined({ health: status?.health || undefined, host: host || undefined }),
  };
}

export function entityReport(object: Stored<EntityObject>): EntityReport {
  const { status, metadata } = object;
  return {
    name: metadata.name,
    ready: stateOf(status?.conditions, "Ready"),
    paused: isPaused(object),
    nameInCoder: entityNameOf(object),
    ...defined({ id: status?.id }),
  };
}

export function groupReport(object: Stored<CoderGroup>): EntityReport {
  const organization = object.spec?.organizationName ?? insideDefaults.organizationName;
  return { ...entityReport(object), organization };
}

export function exposureOf({ spec }: Stored<CoderControlPlane>) {
  const { ingress, gateway } = spec?.expose ?? {};
  const chosen = ingress ?? gateway;
  if (!chosen) return undefined;
  const hosts = [chosen.host, chosen.wildcardHost].filter((host): host is string => Boolean(host));
  return { by: ingress ? "Ingress" : "HTTPRoute", hosts } as const;
}

/** Events, newest first. */
export function eventReports(events: readonly Stored<CoreEvent>[]): EventReport[] {
  return events.map(eventReport).sort((a, b) => (a.at < b.at ? 1 : -1));
}

function eventReport(event: Stored<CoreEvent>): EventReport {
  const { involvedObject, type = "Normal", reason = "", message = "", count, series } = event;
  return {
    at: timeOf(event),
    type,
    reason,
    object: typedName(involvedObject, involvedObject),
    message,
    count: series?.count ?? count ?? 1,
  };
}

/** The time when an event was last seen, for both event APIs. */
export function timeOf({ series, lastTimestamp, eventTime, metadata }: Stored<CoreEvent>): string {
  return series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? "";
}
