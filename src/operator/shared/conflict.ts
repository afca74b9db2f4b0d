import {
  type Condition,
  describeForeign,
  type Explanation,
  type ForeignObject,
  findCondition,
  type Owner,
  resourceName,
  type StepResult,
  type WithStatus,
} from "kube-controller-runtime";
import { ownershipMarks } from "./names.ts";

/** True while a child's name is taken by an object that is not ours; otherwise there is no such condition. */
export const CONFLICT = "Conflict";

/** What is in the way is not watched, because it does not have our label: it is looked at this often. */
const RETRY_MS = 30_000;

/** What the condition of the step says that found objects of others in its way. */
export function explainConflict(objects: readonly [ForeignObject, ...ForeignObject[]]): Explanation {
  const message = `${objects.map(describeForeign).join("; ")}. See condition ${CONFLICT} for the ways out.`;
  return { reason: reasonOf(objects[0]), message, retryAfterMs: RETRY_MS };
}

/** Sums up all that is in the way of an object, with the ways out. */
export function reportConflicts(
  conflicts: readonly ForeignObject[],
  { object, owner }: { readonly object: WithStatus<{ conditions?: Condition[] }>; readonly owner: Owner },
): StepResult<object> {
  const [first] = conflicts;
  if (!first) return findCondition(object.status?.conditions, CONFLICT) ? { noCondition: true } : {};
  const message = conflicts
    .map((object) => `${describeForeign(object)}; ${waysOut(object, owner)}.`)
    .join(" ");
  return { condition: { status: "True", reason: reasonOf(first), message } };
}

function reasonOf({ kind }: ForeignObject): string {
  return `${kind.kind}NotOurs`;
}

function waysOut({ kind, ref, obstacle }: ForeignObject, owner: Owner): string {
  const target = `${resourceName(kind)} ${ref.name}`;
  const isAccount = kind.kind === "ServiceAccount" && owner.kind.kind === "CoderControlPlane";
  const ways = [
    "choose another name",
    kind.kind === "Deployment"
      ? `remove it (kubectl -n ${ref.namespace} delete ${target} --cascade=orphan leaves its pods running)`
      : "remove it",
    ...(isAccount ? ["set spec.serviceAccount.disableCreate to use it as it is"] : []),
    ...(obstacle ? [] : [`hand it over: kubectl -n ${ref.namespace} annotate ${target} ${handOver(owner)}`]),
  ];
  return `${ways.slice(0, -1).join(", ")} or ${ways.at(-1)}`;
}

function handOver({ kind, object }: Owner): string {
  return `${ownershipMarks.handOver}=${kind.kind}/${object.metadata.name}`;
}
