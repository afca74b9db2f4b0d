import type { V1Probe } from "@kubernetes/client-node";
import type { Wire } from "kube-controller-runtime";
import { probeDefaults } from "../../api/v1alpha1/defaults.ts";
import type { ProbeSpec } from "../../api/v1alpha1/pod.ts";

/** Timing of a probe. */
export type ProbeSettings = Readonly<Record<keyof typeof probeDefaults, number>>;

/** Fails after a day: a migration may take hours, and coderd does not respond before it completes. */
export const migrationProbe: ProbeSettings = { ...probeDefaults, failureThreshold: 8_640 };

/**
 * The same limit with a probe every second, so that a pod receives requests as soon as coderd is ready.
 * coderd accepts connections early and responds when it is ready, so a long timeout ends exactly at that
 * time, whereas a short one could miss it by up to a period.
 */
export const quickStartProbe: ProbeSettings = {
  ...probeDefaults,
  periodSeconds: 1,
  timeoutSeconds: 10,
  failureThreshold: 86_400,
};

/** Endpoint of a probe. `port` is the name of a container port. */
export interface ProbeTarget {
  readonly path: string;
  readonly port: string;
}

/** Settings of an enabled probe, or undefined. `kindDefault` applies if the spec does not set a value. */
export function readinessSettings(
  spec: ProbeSpec | undefined,
  kindDefault: { readonly enabled: boolean },
): ProbeSettings | undefined {
  if (!(spec?.enabled ?? kindDefault.enabled)) return undefined;
  return {
    initialDelaySeconds: spec?.initialDelaySeconds ?? probeDefaults.initialDelaySeconds,
    periodSeconds: spec?.periodSeconds || probeDefaults.periodSeconds,
    timeoutSeconds: spec?.timeoutSeconds || probeDefaults.timeoutSeconds,
    successThreshold: spec?.successThreshold || probeDefaults.successThreshold,
    failureThreshold: spec?.failureThreshold || probeDefaults.failureThreshold,
  };
}

/** The same for a liveness probe, for which Kubernetes allows only a successThreshold of 1. */
export function livenessSettings(
  spec: ProbeSpec | undefined,
  kindDefault: { readonly enabled: boolean },
): ProbeSettings | undefined {
  const settings = readinessSettings(spec, kindDefault);
  return settings && { ...settings, successThreshold: 1 };
}

/** Sets every number explicitly, so that manual changes of defaults are reverted as well. */
export function httpProbe(settings: ProbeSettings, { path, port }: ProbeTarget): Wire<V1Probe> {
  return { httpGet: { path, port, scheme: "HTTP" }, ...settings };
}
