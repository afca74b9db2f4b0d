import { type Children, Deployment, type Owner, type Stored } from "kube-controller-runtime";

interface Present {
  readonly owner: Owner;
  readonly deployment: Stored<Deployment> | undefined;
}

/** Makes `desired` the only Deployment of its owner. */
export async function convergeDeployment(
  { owner, deployment }: Present,
  { children }: { readonly children: Pick<Children, "converge" | "patch"> },
  desired: Deployment,
): Promise<Stored<Deployment> | undefined> {
  if (deployment && leavesRollingUpdate(deployment, desired)) {
    const strategy = { type: desired.spec?.strategy?.type, rollingUpdate: null };
    await children.patch(Deployment, deployment, { owner, patch: { spec: { strategy } } });
  }
  const [applied] = await children.converge(Deployment, [desired], owner);
  return applied;
}

/** Kubernetes fills in numbers for a rolling update. No apply can remove them, and with another type they are invalid. */
function leavesRollingUpdate(present: Deployment, desired: Deployment): boolean {
  const { type } = desired.spec?.strategy ?? {};
  return (
    type !== undefined && type !== "RollingUpdate" && present.spec?.strategy?.rollingUpdate !== undefined
  );
}
