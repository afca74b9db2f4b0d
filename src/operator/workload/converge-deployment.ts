import { type Children, Deployment, type Owner, type Stored } from "kube-controller-runtime";
import { withAdditions } from "./additions.ts";
import { type PodsPresent, replaceStuck, type StuckParts } from "./replace-stuck.ts";
import { podInputs, remembering } from "./restart.ts";
import type { PodSettings } from "./settings.ts";

interface Present extends PodsPresent {
  readonly owner: Owner;
  readonly deployment: Stored<Deployment> | undefined;
}

/** Makes `desired` the only Deployment of its owner, and restarts its pods after changes of their inputs. */
export async function convergeDeployment(
  present: Present,
  parts: Parts,
  { desired: asked, pod }: { readonly desired: Deployment; readonly pod: PodSettings },
): Promise<Stored<Deployment> | undefined> {
  const { owner, deployment, sources } = present;
  const { children, own } = parts;
  const { deployment: remembered, restarts } = remembering(asked, deployment, podInputs(pod, sources));
  if (deployment && clearsRollingUpdate(deployment, remembered)) {
    const strategy = { type: remembered.spec?.strategy?.type, rollingUpdate: null };
    await children.patch(Deployment, deployment, { owner, patch: { spec: { strategy } } });
  }
  const desired = await withAdditions(remembered, { owner, deployment }, children);
  // Before the restart: afterwards, the Deployment has the annotation, and no reconcile would emit the event.
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

/**
 * Kubernetes sets defaults for a rolling update. They are invalid for other strategies, and an apply cannot
 * remove them.
 */
function clearsRollingUpdate(present: Deployment, desired: Deployment): boolean {
  const { type } = desired.spec?.strategy ?? {};
  return (
    type !== undefined && type !== "RollingUpdate" && present.spec?.strategy?.rollingUpdate !== undefined
  );
}
