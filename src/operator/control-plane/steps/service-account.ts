import {
  applied,
  controllerOf,
  keyOf,
  type RunContext,
  refOf,
  ServiceAccount,
} from "kube-controller-runtime";
import type { Snapshot } from "../observe.ts";
import { serviceAccountPlan } from "../resources/service-account.ts";
import type { Result } from "./result.ts";

/** Keeps the ServiceAccount of the pods, or lets go of one that is the user's. */
export async function ensureServiceAccount(snapshot: Snapshot, context: RunContext): Promise<Result> {
  const plan = serviceAccountPlan(snapshot.controlPlane);
  if (plan.do === "release") {
    await release(plan.name, snapshot, context);
    await context.children.converge(ServiceAccount, [], snapshot.owner);
    return applied(`ServiceAccount "${plan.name}" is yours and left as it is`);
  }
  await context.children.converge(ServiceAccount, [plan.serviceAccount], snapshot.owner);
  return applied(`ServiceAccount "${refOf(plan.serviceAccount).name}" is in place`);
}

/** Drops our owner reference, so that the account outlives the control plane. */
async function release(
  name: string,
  { object, owner }: Snapshot,
  { caches, client }: RunContext,
): Promise<void> {
  const ref = { namespace: object.metadata.namespace, name };
  const account = caches.of(ServiceAccount).get(keyOf(ref));
  if (!account || controllerOf(account)?.uid !== owner.object.metadata.uid) return;
  const { ownerReferences = [], resourceVersion } = account.metadata;
  const others = ownerReferences.filter(({ uid }) => uid !== owner.object.metadata.uid);
  await client.mergePatch(ServiceAccount, ref, { metadata: { resourceVersion, ownerReferences: others } });
}
