import { type Condition, findCondition, type Stored, UNREPORTED } from "kube-controller-runtime";
import { CoderControlPlane } from "../api/v1alpha1/kinds.ts";
import { quietReasons as ofControlPlane } from "../operator/control-plane/status.ts";
import { defined } from "../operator/normalize.ts";
import { quietReasons as ofProvisioner } from "../operator/provisioner/status.ts";
import { quietReasons as ofProxy } from "../operator/workspace-proxy/status.ts";
import type { OurObject } from "./objects.ts";

/** Something about an object that a person wants to know. */
export interface Problem {
  /** `wrong` needs a person; `waiting` ends by itself. */
  readonly severity: "wrong" | "waiting";
  /** `kind/name`. */
  readonly object: string;
  /** The type of the condition that reports it. */
  readonly condition: string;
  readonly reason: string;
  readonly message: string;
  readonly since?: string;
}

/** Conditions whose True is the bad news. */
const NEGATIVE: ReadonlySet<string> = new Set(["Stalled", "Conflict"]);

/** They repeat others, describe a choice, or say only how far something is. */
const SILENT: ReadonlySet<string> = new Set([
  "Available",
  "ImagePinned",
  "Paused",
  "ScalingLimited",
  "Stalled",
  "UpgradePossible",
]);

/** What somebody chose, or what is as it should be in spite of its status. */
const CHOSEN: ReadonlySet<string> = new Set([
  ...["Disabled", "ScaledToZero", "NotRequested", "NotConfigured", "Completed"],
]);

/** True, and still worth a look before it is too late. */
const SOON: ReadonlySet<string> = new Set([
  ...["ExpiresSoon", "GracePeriod", "InGrace", "RenewalFailed", "OldKeyLeft", "TokenExpiresSoon"],
]);

/** Unknown is the usual state of much that was not asked for; of these it means that somebody could not look. */
const WATCHED: ReadonlySet<string> = new Set(["BuildsServed", "DaemonsConnected", "Healthy"]);

const PASSING: ReadonlySet<string> = new Set([...ofControlPlane, ...ofProvisioner, ...ofProxy, UNREPORTED]);

/** What is wrong with an object: that it is being deleted, and what its conditions say. */
export function problemsOf(object: string, stored: Stored<OurObject>): Problem[] {
  return [...deletionOf(object, stored), ...conditionProblems(object, stored)];
}

function deletionOf(object: string, { metadata }: Stored<OurObject>): Problem[] {
  const { deletionTimestamp: since, finalizers = [] } = metadata;
  if (!since) return [];
  const ours = finalizers.filter((name) => name.startsWith(`${CoderControlPlane.apiVersion.split("/")[0]}/`));
  const message =
    ours.length > 0
      ? `It is being deleted; the operator removes finalizer ${ours.join(", ")} after its cleanup.`
      : `It is being deleted; ${finalizers.join(", ") || "nothing"} keeps it.`;
  return [{ severity: "waiting", object, condition: "Deletion", reason: "BeingDeleted", message, since }];
}

/** What the conditions of an object say is wrong, causes first; `Ready` only where nothing else explains it. */
function conditionProblems(object: string, { metadata, status }: Stored<OurObject>): Problem[] {
  const conditions = status?.conditions ?? [];
  const found = conditions
    .filter(({ type }) => type !== "Ready" && !SILENT.has(type))
    .filter(isProblem)
    .toSorted((a, b) => basicness(b) - basicness(a))
    .map((condition) => problem(object, condition));
  const ready = findCondition(conditions, "Ready");
  if (found.length > 0 || ready?.status === "True") return found;
  if (ready) return CHOSEN.has(ready.reason) ? [] : [problem(object, ready)];
  if (findCondition(conditions, "Paused")?.status === "True") return [];
  const message = "The operator has not reported on it yet; if that lasts, run: kubectl coder check";
  const unseen = { severity: "waiting", object, condition: "Ready", reason: "Unreported", message } as const;
  return [{ ...unseen, ...defined({ since: metadata.creationTimestamp }) }];
}

/** Pods that can't run explain all that coderd would have to do; a name that is taken explains even that. */
function basicness({ type, reason }: Condition): number {
  if (type === "Conflict") return 2;
  return type === "DeploymentReady" && reason === "Stalled" ? 1 : 0;
}

function isProblem({ type, status, reason }: Condition): boolean {
  if (SOON.has(reason)) return true;
  if (CHOSEN.has(reason)) return false;
  if (NEGATIVE.has(type)) return status === "True";
  return status === "False" || (status === "Unknown" && WATCHED.has(type));
}

function problem(object: string, condition: Condition): Problem {
  const { type, status, reason, message, lastTransitionTime } = condition;
  const severity: Problem["severity"] = PASSING.has(reason) || status === "Unknown" ? "waiting" : "wrong";
  const since = lastTransitionTime || undefined;
  return defined({ severity, object, condition: type, reason, message, since });
}
