import type { Pod, Stored } from "kube-controller-runtime";
import { CoderControlPlane } from "../../../api/v1alpha1/kinds.ts";
import { redactText } from "../../../coder/redact.ts";
import { childNameOf } from "../../../operator/names.ts";
import { podProblem } from "../../../operator/workload/pods/pod-problem.ts";
import { warningsIn } from "../../../operator/workload/pods/warnings.ts";
import { appOf, type Found, type OurObject, typedName } from "../../objects.ts";
import { type Problem, problemsOf } from "../../problems.ts";
import { missingEntities } from "./missing-entities.ts";
import type { Link } from "./report.ts";
import type { Snapshot } from "./snapshot.ts";

const MAX_PODS = 3;

/** Conditions that only say that the control plane is not ready yet. */
const OF_CONTROL_PLANE: ReadonlySet<string> = new Set([
  "ControlPlaneReady",
  "OperatorAccessReady",
  "CoderdFound",
]);

/** Conditions whose cause is in the pods. */
const OF_PODS: ReadonlySet<string> = new Set(["DeploymentReady", "DaemonsConnected", "Healthy", "Ready"]);

/** Why an object is not healthy, each problem with its causes. Empty if there are no problems. */
export function explainObject(found: Found, snapshot: Snapshot, depth = 0): Link[] {
  return explain(found, { snapshot, depth, effects: [] });
}

function explain({ kind, object }: Found, { snapshot, depth, effects }: Search): Link[] {
  const name = typedName(kind, object.metadata);
  // Objects that wait for each other explain nothing.
  if (effects.includes(name)) return [];
  const search = { snapshot, depth: depth + 1, effects: [...effects, name] };
  const explained = new Set<string>();
  return problemsOf(name, object).flatMap((problem) => {
    const { condition, reason, message, severity } = problem;
    const causes = causesOf(problem, { kind, object }, search);
    // A problem with the same causes as an earlier one is part of that.
    if (causes.length > 0 && causes.every((cause) => explained.has(cause.object))) return [];
    for (const cause of causes) explained.add(cause.object);
    // Keep the message of the pod only, if the operator's message is about the same pod.
    const isReported = causes.some((cause) => cause.message !== undefined && message.includes(cause.message));
    const link = { depth, object: name, state: `${condition}: ${reason}`, severity };
    return [isReported ? link : { ...link, message }, ...causes];
  });
}

interface Search {
  readonly snapshot: Snapshot;
  readonly depth: number;
  /** The objects whose problems are to be explained, as `kind/name`. */
  readonly effects: readonly string[];
}

function causesOf(problem: Problem, found: Found, search: Search): Link[] {
  const { condition } = problem;
  if (found.kind.kind !== CoderControlPlane.kind && OF_CONTROL_PLANE.has(condition))
    return ofControlPlane(found.object, search);
  const missing = missingEntities(problem, found, search.snapshot);
  if (missing.length > 0) return missing.flatMap((entity) => explain(entity, search));
  return OF_PODS.has(condition) ? ofPods(found, search) : [];
}

function ofControlPlane({ spec }: Stored<OurObject>, search: Search): Link[] {
  const { snapshot } = search;
  const { controlPlaneRef } = (spec ?? {}) as { controlPlaneRef?: { name?: string } };
  const controlPlane = snapshot.controlPlanes.find(({ metadata }) => metadata.name === controlPlaneRef?.name);
  return controlPlane ? explain({ kind: CoderControlPlane, object: controlPlane }, search) : [];
}

function ofPods(found: Found, search: Search): Link[] {
  const pods = search.snapshot.podsOf(found);
  const links = pods.flatMap((pod) => ofPod(pod, search));
  if (links.length > 0) return links.slice(0, MAX_PODS * 2);
  return pods.length > 0 ? [] : withoutPods(found, search);
}

function ofPod(pod: Stored<Pod>, { snapshot, depth }: Search): Link[] {
  const { name } = pod.metadata;
  const warnings = snapshot.warnings.filter(({ involvedObject }) => involvedObject.name === name);
  const problem = podProblem(pod, snapshot.now, warningsIn(warnings));
  if (problem?.kind !== "found") return [];
  const state = pod.status?.phase ?? "Unknown";
  const message = problem.message.replace(`Pod "${name}": `, "");
  const [event] = warnings;
  return [
    { depth, object: `pod/${name}`, state, severity: "wrong", message },
    ...(event ? [eventLink(event, depth + 1)] : []),
  ];
}

/** The owner of the pods says why there are none: a quota, or Pod Security. */
function withoutPods({ kind, object }: Found, { snapshot, depth }: Search): Link[] {
  const app = appOf(kind);
  if (!app) return [];
  const child = childNameOf(app, object.metadata.name);
  const event = snapshot.warnings.find(
    ({ involvedObject, reason }) => reason === "FailedCreate" && involvedObject.name?.startsWith(`${child}-`),
  );
  return event ? [eventLink(event, depth)] : [];
}

function eventLink(
  { involvedObject, reason = "", message = "" }: Snapshot["warnings"][number],
  depth: number,
): Link {
  const object = typedName(involvedObject, involvedObject);
  return { depth, object, state: `event ${reason}`, message: redactText(message), severity: "wrong" };
}
