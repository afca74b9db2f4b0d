import { ControllerRevision, Pod } from "kube-controller-runtime";
import type { UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import { imageCheckPod, isCheckOver } from "./image-check.ts";
import type { UpgradeRun, UpgradeSnapshot } from "./observe.ts";
import { stages } from "./stages.ts";

/** Objects that no upgrade needs anymore: previous pod templates and image check pods. */
export function leftoversOf(
  record: UpgradeStatus | undefined,
  { upgrade, controlPlane, now }: Pick<UpgradeSnapshot, "upgrade" | "controlPlane" | "now">,
) {
  const previous = record && stages[record.stage].end !== "complete" ? record.previous : undefined;
  const isChecking = record?.stage === "Preflight" && !record.pulledAt;
  const current = isChecking ? imageCheckPod(controlPlane, record).metadata?.name : undefined;
  return {
    revisions: upgrade.revisions.filter(({ metadata }) => metadata.name !== previous),
    // A failed check is repeated by another pod.
    imageChecks: upgrade.imageChecks.filter((pod) => pod.metadata.name !== current || isCheckOver(pod, now)),
  };
}

export async function removeLeftovers(
  record: UpgradeStatus | undefined,
  { snapshot, environment: { children } }: UpgradeRun,
): Promise<void> {
  const { revisions, imageChecks } = leftoversOf(record, snapshot);
  for (const revision of revisions) await children.remove(ControllerRevision, revision, snapshot.owner);
  for (const pod of imageChecks) await children.remove(Pod, pod, snapshot.owner);
}
