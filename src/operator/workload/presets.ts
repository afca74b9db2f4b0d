import type { V1Affinity, V1SecurityContext } from "@kubernetes/client-node";
import type { Wire } from "kube-controller-runtime";
import type { Labels } from "../names.ts";
import type { PodSettings } from "./settings.ts";

/*
 * What Coder's own charts set by default. Here it is opt-in: a default that came later would replace
 * every pod of a fleet.
 */

const chartSecurityContext: Wire<V1SecurityContext> = {
  runAsNonRoot: true,
  runAsUser: 1000,
  runAsGroup: 1000,
  seccompProfile: { type: "RuntimeDefault" },
  allowPrivilegeEscalation: false,
};

/** The user's fields over those of the preset. */
export function securityContextOf({
  presets,
  securityContext,
}: PodSettings): Wire<V1SecurityContext> | undefined {
  return presets?.securityContext ? { ...chartSecurityContext, ...securityContext } : securityContext;
}

/** The user's kinds of affinity beside the preset, which gives way to a podAntiAffinity of theirs. */
export function affinityOf({ affinity, presets }: PodSettings, labels: Labels): Wire<V1Affinity> | undefined {
  return presets?.antiAffinity ? { podAntiAffinity: apart(labels), ...affinity } : affinity;
}

/** Prefers nodes that have no pod of the same object yet. */
function apart(labels: Labels): NonNullable<Wire<V1Affinity>["podAntiAffinity"]> {
  const podAffinityTerm = {
    labelSelector: { matchLabels: { ...labels } },
    topologyKey: "kubernetes.io/hostname",
  };
  return { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm }] };
}
