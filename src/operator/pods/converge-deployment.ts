import { type Children, Deployment, type Owner, type Stored } from "kube-controller-runtime";
import type { Sources } from "../sources.ts";
import { podInputs, remembering } from "./restart.ts";
import type { PodSettings } from "./settings.ts";

interface Present {
  readonly owner: Owner;
  readonly sources: Sources;
  readonly deployment: Stored<Deployment> | undefined;
}

/** Makes `desired` the only Deployment of its owner, and replaces its pods when what they read at start has changed. */
export async function convergeDeployment(
  { owner, deployment, sources }: Present,
  { children, own }: Parts,
  { desired: asked, pod }: { readonly desired: Deployment; readonly pod: PodSettings },
): Promise<Stored<Deployment> | undefined> {
  const { deployment: desired, restarts } = remembering(asked, deployment, podInputs(pod, sources));
  if (deployment && leavesRollingUpdate(deployment, desired)) {
    const strategy = { type: desired.spec?.strategy?.type, rollingUpdate: null };
    await children.patch(Deployment, deployment, { owner, patch: { spec: { strategy } } });
  }
  const [applied] = await children.converge(Deployment, [desired], owner);
  if (restarts) own.emit("Normal", "Restarting", restartMessage(desired, pod));
  return applied;
}

interface Parts {
  readonly children: Pick<Children, "converge" | "patch">;
  readonly own: { emit(type: "Normal", reason: string, message: string): void };
}

function restartMessage({ metadata }: Deployment, { restartOn }: PodSettings): string {
  const what = restartOn === "All" ? "a Secret or ConfigMap that they read" : "a certificate that they read";
  return `The pods of Deployment "${metadata?.name}" are replaced because ${what} has changed; see spec.restartOn.`;
}

/** Kubernetes fills in numbers for a rolling update. No apply can remove them, and with another type they are invalid. */
function leavesRollingUpdate(present: Deployment, desired: Deployment): boolean {
  const { type } = desired.spec?.strategy ?? {};
  return (
    type !== undefined && type !== "RollingUpdate" && present.spec?.strategy?.rollingUpdate !== undefined
  );
}
