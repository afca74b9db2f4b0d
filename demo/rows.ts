import { type Condition, findCondition, type Kind, type Stored } from "kube-controller-runtime";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../src/api/v1alpha1/kinds.ts";

export type CoderObject = CoderControlPlane | CoderProvisioner | CoderWorkspaceProxy;

/** The objects of the manifests: the table also shows those that do not exist yet. */
export const CAST: readonly { readonly kind: Kind<CoderObject>; readonly name: string }[] = [
  { kind: CoderControlPlane, name: "coder" },
  { kind: CoderProvisioner, name: "linux" },
  { kind: CoderWorkspaceProxy, name: "sydney" },
];

export const TITLE_WIDTH = 28;

/** One object in the table. */
export interface Row {
  /** `CoderControlPlane/coder` */
  readonly title: string;
  /** Further information in a few words, such as the license. */
  readonly facts: readonly string[];
  readonly conditions: readonly Condition[];
  /** Why it is not ready; absent if it is. */
  readonly blocked?: string;
}

export function rowOf(kind: Kind<CoderObject>, name: string, object: Stored<CoderObject> | undefined): Row {
  const conditions = object?.status?.conditions ?? [];
  const blocked = object ? blocking(conditions, object.metadata.generation) : "does not exist";
  return {
    title: `${kind.kind}/${name}`,
    facts: object ? factsOf(object) : [],
    conditions,
    ...(blocked === undefined ? {} : { blocked }),
  };
}

/** Ready means that the summary is True for the current spec, and that no other condition contradicts it. */
function blocking(conditions: readonly Condition[], generation: number | undefined): string | undefined {
  const failing = conditions.find(({ status, type }) => status === "False" && type !== "Ready");
  if (failing) return `${failing.type} is False (${failing.reason}): ${failing.message}`;
  const ready = findCondition(conditions, "Ready");
  if (!ready) return "Ready is not reported yet";
  if (ready.status !== "True") return `Ready is ${ready.status} (${ready.reason}): ${ready.message}`;
  if (ready.observedGeneration !== generation) return "Ready is about an older spec";
  return undefined;
}

function factsOf(object: Stored<CoderObject>): string[] {
  const status: CoderControlPlane["status"] & CoderProvisioner["status"] & CoderWorkspaceProxy["status"] =
    object.status ?? {};
  const { phase, readyReplicas, licenseTier, provisionerKeyName, health } = status;
  return [
    ...(phase ? [phase] : []),
    ...(readyReplicas ? [`${readyReplicas} ready`] : []),
    ...(licenseTier ? [`license ${licenseTier}`] : []),
    ...(provisionerKeyName ? [`key ${provisionerKeyName}`] : []),
    ...(health ? [`health ${health}`] : []),
  ];
}

/** The changes between two states of an object, in one line for a log; absent if there are none. */
export function changeBetween(previous: Row | undefined, next: Row): string | undefined {
  const changes = [
    ...next.facts.filter((fact) => !previous?.facts.includes(fact)),
    ...next.conditions.flatMap((condition) => {
      const before = previous?.conditions.find(({ type }) => type === condition.type);
      return conditionChange(before, condition);
    }),
  ];
  return changes.length > 0 ? `${next.title.padEnd(TITLE_WIDTH)}${changes.join("  ")}` : undefined;
}

/** The reason of a condition that became True is omitted. */
function conditionChange(before: Condition | undefined, { type, status, reason }: Condition): string[] {
  if (status === "Unknown" || (before?.status === status && before.reason === reason)) return [];
  const explained = status === "False" || before?.status === status;
  return [`${markOf(status)} ${type}${explained ? ` (${reason})` : ""}`];
}

export function markOf(status: string): string {
  return { True: "✓", False: "✗" }[status] ?? "–";
}
