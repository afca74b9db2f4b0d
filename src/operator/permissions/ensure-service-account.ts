import {
  applied,
  blocked,
  controllerOf,
  keyOf,
  type ObjectRef,
  type Owner,
  type RunContext,
  refOf,
  ServiceAccount,
  type StepResult,
} from "kube-controller-runtime";
import { serviceAccountPlan } from "./service-account.ts";
import type { Builder } from "./settings.ts";

/** Keeps the ServiceAccount of the pods, or lets go of one that is the user's. */
export async function ensureServiceAccount(
  builder: Builder,
  owner: Owner,
  context: RunContext,
): Promise<StepResult<object>> {
  const plan = serviceAccountPlan(builder);
  if (plan.do === "release") {
    await release(plan.name, owner, context);
    await context.children.converge(ServiceAccount, [], owner);
    return findAccount(plan.name, owner, context);
  }
  await context.children.converge(ServiceAccount, [plan.serviceAccount], owner);
  return applied(`ServiceAccount "${refOf(plan.serviceAccount).name}" is in place`);
}

/** The account of the pods, where the user makes it: for `refersTo`. */
export function referencedAccounts({ identity, serviceAccount }: Builder): ObjectRef[] {
  return serviceAccount.managed ? [] : [{ namespace: identity.namespace, name: serviceAccount.name }];
}

/** Pods can't start without the account, and nobody but the user makes it. */
async function findAccount(
  name: string,
  { object }: Owner,
  { referenced }: RunContext,
): Promise<StepResult<object>> {
  const { namespace } = object.metadata;
  if (!(await referenced(ServiceAccount).get({ namespace, name }))) {
    const message = `ServiceAccount "${name}" does not exist in namespace "${namespace}"; create it, or remove spec.serviceAccount.disableCreate.`;
    return blocked("ServiceAccountMissing", message);
  }
  const message = `ServiceAccount "${name}" is yours and left as it is`;
  return { condition: { status: "True", reason: "Found", message } };
}

/** Drops our owner reference, so that the account outlives the object. */
async function release(name: string, { object }: Owner, { caches, client }: RunContext): Promise<void> {
  const ref = { namespace: object.metadata.namespace, name };
  const account = caches.of(ServiceAccount).get(keyOf(ref));
  if (!account || controllerOf(account)?.uid !== object.metadata.uid) return;
  const { ownerReferences = [], resourceVersion } = account.metadata;
  const others = ownerReferences.filter(({ uid }) => uid !== object.metadata.uid);
  await client.mergePatch(ServiceAccount, ref, { metadata: { resourceVersion, ownerReferences: others } });
}
