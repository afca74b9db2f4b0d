/**
 * Defaults of the API. The CRDs and the reconcilers both use them, so they cannot differ. This module does
 * not import the schema library because the operator loads it at startup.
 */

export const controlPlaneDefaults = {
  image: "ghcr.io/coder/coder:latest",
  replicas: 1,
  envUseClusterAccessURL: true,
  licenseSecretKey: "license",
} as const;

/** The first user of coderd. */
export const firstAdminDefaults = { username: "admin", passwordKey: "password" } as const;

export const upgradeDefaults = {
  strategy: "Safe",
  drainTimeoutSeconds: 600,
  backupTimeoutSeconds: 3_600,
} as const;

export const provisionerDefaults = {
  replicas: 1,
  organizationName: "default",
  keySecretKey: "key",
  terminationGracePeriodSeconds: 600,
} as const;

export const autoscalingDefaults = {
  minReplicas: 1,
  minIdle: 0,
  scaleDownDelaySeconds: 300,
  pollSeconds: 15,
  priority: 0,
  keepWarmMinutes: 10,
} as const;

export const workspaceProxyDefaults = {
  image: controlPlaneDefaults.image,
  replicas: 1,
} as const;

export const serviceDefaults = { type: "ClusterIP", port: 80 } as const;

/** Data key of Secrets that contain a session, operator or proxy token. */
export const tokenSecretKey = "token";

export const rbacDefaults = { workspacePerms: true, enableDeployments: true } as const;

/** The Kubernetes defaults, set explicitly so that a probe does not change when Kubernetes changes them. */
export const probeDefaults = {
  initialDelaySeconds: 0,
  periodSeconds: 10,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3,
} as const;

export const readinessProbeDefault = { enabled: true } as const;
export const livenessProbeDefault = { enabled: false } as const;

/** What the specs of entities at coderd leave out. */
export const insideDefaults = {
  adopt: false,
  deletionPolicy: "Retain",
  managementPolicy: "Manage",
  organizationName: "default",
} as const;
