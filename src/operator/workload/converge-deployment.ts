import { type Children, Deployment, type Owner, type Stored } from "kube-controller-runtime";
import { withTimelyAdditions } from "./additions.ts";
import { type PodsPresent, replaceStuck, type StuckParts } from "./replace-stuck.ts";
import { podInputs, remembering } from "./restart.ts";
import type { PodSettings } from "./settings.ts";

interface Present extends PodsPresent {
  readonly owner: Owner;
  readonly deployment: Stored<Deployment> | undefined;
}

/** Makes `desired` the only Deployment of its owner, and replaces its pods when what they read at start has changed. */
export async function convergeDeployment(
  present: Present,
  parts: Parts,
  { desired: asked, pod }: { readonly desired: Deployment; readonly pod: PodSettings },
): Promise<Stored<Deployment> | undefined> {
  const { owner, deployment, sources } = present;
  const { children, own } = parts;
  const { deployment: remembered, restarts } = remembering(asked, deployment, podInputs(pod, sources));
  if (deployment && leavesRollingUpdate(deployment, remembered)) {
    const strategy = { type: remembered.spec?.strategy?.type, rollingUpdate: null };
    await children.patch(Deployment, deployment, { owner, patch: { spec: { strategy } } });
  }
  const desired = await withTimelyAdditions(remembered, { owner, deployment }, children);
  // Before it is done: once the Deployment has the mark, no run finds the reason again, even if the answer was lost.
  if (restarts) own.emit("Normal", "Restarting", restartMessage(desired, pod));
  const [applied] = await children.converge(Deployment, [desired], owner);
  await replaceStuck(present, parts, pod);
  return applied;
}

interface Parts extends StuckParts {
  readonly children: Pick<Children, "converge" | "patch" | "preview">;
}

function restartMessage({ metadata }: Deployment, { restartOn }: PodSettings): string {
  const what = restartOn === "All" ? "a Secret or ConfigMap that they use" : "a certificate that they use";
  return `Restarting the pods of Deployment "${metadata?.name}" because ${what} changed; see spec.restartOn.`;
}

/** Kubernetes fills in numbers for a rolling update. No apply can remove them, and with another type they are invalid. */
function leavesRollingUpdate(present: Deployment, desired: Deployment): boolean {
  const { type } = desired.spec?.strategy ?? {};
  return (
    type !== undefined && type !== "RollingUpdate" && present.spec?.strategy?.rollingUpdate !== undefined
  );
}
