import type { V1Probe } from "@kubernetes/client-node";
import type { Wire } from "kube-controller-runtime";
import { probeDefaults } from "../../api/v1alpha1/defaults.ts";
import type { ProbeSpec } from "../../api/v1alpha1/pod.ts";

/** When and how often a pod is checked. */
export type ProbeSettings = Readonly<Record<keyof typeof probeDefaults, number>>;

/** Fails after a day: a migration may take hours, and coderd answers nobody before it is over. */
export const patientProbe: ProbeSettings = { ...probeDefaults, failureThreshold: 8_640 };

/**
 * The same patience, with a probe every second: a pod gets requests as soon as coderd serves, and not a period of the
 * readiness probe later. coderd accepts connections before it serves and answers them then, so a long timeout ends the wait
 * at that moment, and a short one up to a period later.
 */
export const quickStartProbe: ProbeSettings = {
  ...probeDefaults,
  periodSeconds: 1,
  timeoutSeconds: 10,
  failureThreshold: 86_400,
};

/** Whom the probe asks; `port` is the name of a container port. */
export interface ProbeTarget {
  readonly path: string;
  readonly port: string;
}

/** The settings of a probe that is on; absent when it is off. `kindDefault` decides where the spec does not. */
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

/** The same for a liveness probe, which Kubernetes allows only one success. */
export function livenessSettings(
  spec: ProbeSpec | undefined,
  kindDefault: { readonly enabled: boolean },
): ProbeSettings | undefined {
  const settings = readinessSettings(spec, kindDefault);
  return settings && { ...settings, successThreshold: 1 };
}

/** Every number is written out, so that an edit by hand is undone also where it met a default. */
export function httpProbe(settings: ProbeSettings, { path, port }: ProbeTarget): Wire<V1Probe> {
  return { httpGet: { path, port, scheme: "HTTP" }, ...settings };
}
