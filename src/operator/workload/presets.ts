import type { V1Affinity, V1SecurityContext } from "@kubernetes/client-node";
import type { Wire } from "kube-controller-runtime";
import type { Labels } from "../names.ts";
import type { PodSettings } from "./settings.ts";

/*
 * Defaults of Coder's Helm charts. They are opt-in, because a new default would replace every pod of a fleet.
 */

const chartSecurityContext: Wire<V1SecurityContext> = {
  runAsNonRoot: true,
  runAsUser: 1000,
  runAsGroup: 1000,
  seccompProfile: { type: "RuntimeDefault" },
  allowPrivilegeEscalation: false,
};

/** Fields of the user take precedence over the preset. */
export function securityContextOf({
  presets,
  securityContext,
}: PodSettings): Wire<V1SecurityContext> | undefined {
  return presets?.securityContext ? { ...chartSecurityContext, ...securityContext } : securityContext;
}

/** Affinity of the user with the preset. A podAntiAffinity of the user replaces the preset. */
export function affinityOf({ affinity, presets }: PodSettings, labels: Labels): Wire<V1Affinity> | undefined {
  return presets?.antiAffinity ? { podAntiAffinity: onDifferentNodes(labels), ...affinity } : affinity;
}

/** Prefers nodes without a pod of the same object. */
function onDifferentNodes(labels: Labels): NonNullable<Wire<V1Affinity>["podAntiAffinity"]> {
  const podAffinityTerm = {
    labelSelector: { matchLabels: { ...labels } },
    topologyKey: "kubernetes.io/hostname",
  };
  return { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm }] };
}
