import {
  applied,
  blocked,
  type Children,
  controllerOf,
  keyOf,
  type ObjectRef,
  type Owner,
  type RunContext,
  ServiceAccount,
  type StepResult,
  type Stored,
} from "kube-controller-runtime";
import { childMetadata, commonLabels } from "../../names.ts";
import type { Builder } from "./settings.ts";

/** State of the pods' ServiceAccount. */
export interface ObservedAccount {
  /** Only known if it has the operator's label. */
  readonly present: Stored<ServiceAccount> | undefined;
  /** Whether it exists, if the user manages it. */
  readonly exists: PromiseSettledResult<boolean>;
}

/** For `refersTo`: a ServiceAccount that the user manages. */
export function referencedAccounts({ identity, serviceAccount }: Builder): ObjectRef[] {
  return serviceAccount.managed ? [] : [{ namespace: identity.namespace, name: serviceAccount.name }];
}

/** For `observe`. */
export async function observeAccount(
  builder: Builder,
  { caches, referenced }: Pick<RunContext, "caches" | "referenced">,
): Promise<ObservedAccount> {
  const { identity, serviceAccount } = builder;
  const key = keyOf({ namespace: identity.namespace, name: serviceAccount.name });
  const [ref] = referencedAccounts(builder);
  const found = async () => !ref || (await referenced(ServiceAccount).get(ref)) !== undefined;
  const [exists] = await Promise.allSettled([found()]);
  return { present: caches.of(ServiceAccount).get(key), exists };
}

/**
 * Applies the ServiceAccount of the pods, or releases one that the user manages, so that it outlives the
 * object.
 */
export async function ensureServiceAccount(
  { owner, account }: { readonly owner: Owner; readonly account: ObservedAccount },
  { children }: { readonly children: Pick<Children, "converge" | "release"> },
  builder: Builder,
): Promise<StepResult<object>> {
  const { name } = builder.serviceAccount;
  const desired = serviceAccount(builder);
  if (!desired) {
    const { present } = account;
    const isOurs = present && controllerOf(present)?.uid === owner.object.metadata.uid;
    if (isOurs) await children.release(ServiceAccount, present, owner);
    await children.converge(ServiceAccount, [], owner);
    return userManagedAccount(name, owner, account);
  }
  await children.converge(ServiceAccount, [desired], owner);
  return applied(`ServiceAccount "${name}" exists.`);
}

/** Pods cannot start without the account, and the user must create it. */
function userManagedAccount(
  name: string,
  { object }: Owner,
  { exists }: ObservedAccount,
): StepResult<object> {
  if (exists.status === "rejected") throw exists.reason;
  if (!exists.value) {
    const message = `ServiceAccount "${name}" does not exist in namespace "${object.metadata.namespace}"; create it, or remove spec.serviceAccount.disableCreate.`;
    return blocked("ServiceAccountMissing", message);
  }
  const message = `ServiceAccount "${name}" is not managed by the operator.`;
  return { condition: { status: "True", reason: "Found", message } };
}

/** Undefined if the user manages it: it is released and never deleted. */
export function serviceAccount(builder: Builder): ServiceAccount | undefined {
  const { name, managed, labels, annotations } = builder.serviceAccount;
  if (!managed) return undefined;
  const metadata = childMetadata(builder, name, annotations);
  return {
    apiVersion: "v1",
    kind: "ServiceAccount",
    // Labels of the operator take precedence, because they identify its children.
    metadata: { ...metadata, labels: { ...builder.labels, ...labels, ...commonLabels(builder) } },
  };
}
