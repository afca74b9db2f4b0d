import type { ControlPlaneSpec } from "../src/api/v1alpha1/control-plane.ts";
import { CoderControlPlane } from "../src/api/v1alpha1/kinds.ts";

export interface ControlPlaneParts {
  readonly namespace: string;
  readonly name?: string;
  readonly spec?: ControlPlaneSpec;
}

/** A control plane to create. Operator access is disabled, because most tests run no coderd. */
export function aControlPlane({
  namespace,
  name = "coder",
  spec = {},
}: ControlPlaneParts): CoderControlPlane {
  return {
    apiVersion: CoderControlPlane.apiVersion,
    kind: CoderControlPlane.kind,
    metadata: { namespace, name },
    spec: { operatorAccess: { disabled: true }, ...spec },
  };
}

/** The pod settings of an empty spec. */
export const podOfEmptySpec = {
  command: [],
  envFrom: [],
  extraArgs: [],
  extraEnv: [],
  hostAliases: [],
  imagePullSecrets: [],
  initContainers: [],
  tolerations: [],
  topologySpreadConstraints: [],
  volumeMounts: [],
  volumes: [],
  readinessProbe: {
    initialDelaySeconds: 0,
    periodSeconds: 10,
    timeoutSeconds: 1,
    successThreshold: 1,
    failureThreshold: 3,
  },
  livenessProbe: undefined,
  tlsSecretNames: [],
  authorities: [],
};
