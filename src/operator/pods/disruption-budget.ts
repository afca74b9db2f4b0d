import type { PodDisruptionBudget } from "kube-controller-runtime";
import { childMetadata, commonLabels, type Parent } from "../names.ts";
import { defined } from "../normalise.ts";
import type { PodSettings } from "./settings.ts";

/** An object of ours whose pods may be protected from drains. */
export interface Disruptable extends Parent {
  readonly childName: string;
  readonly pod: Pick<PodSettings, "podDisruptionBudget">;
}

/** Limits how many pods a drain may evict at a time; absent when the spec does not ask for it. */
export function disruptionBudget(parent: Disruptable): PodDisruptionBudget | undefined {
  const { podDisruptionBudget: budget } = parent.pod;
  if (!budget) return undefined;
  const { maxUnavailable, minAvailable, unhealthyPodEvictionPolicy } = budget;
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: childMetadata(parent, parent.childName),
    spec: {
      ...defined({ maxUnavailable, minAvailable, unhealthyPodEvictionPolicy }),
      selector: { matchLabels: commonLabels(parent) },
    },
  };
}
