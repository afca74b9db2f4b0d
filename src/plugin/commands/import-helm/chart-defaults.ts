import type { JsonObject } from "./json.ts";
import type { ChartName } from "./release.ts";

/*
 * The defaults of the charts, for values files without a release. A release contains the defaults of its own
 * chart. A test compares these with the pinned charts.
 */

/** The security context of both charts; `presets.securityContext` replaces it. */
export const chartSecurityContext: JsonObject = {
  runAsNonRoot: true,
  runAsUser: 1000,
  runAsGroup: 1000,
  seccompProfile: { type: "RuntimeDefault" },
  allowPrivilegeEscalation: false,
};

/** The resources that both charts set by default. */
export const chartResources: JsonObject = {
  limits: { cpu: "2000m", memory: "4096Mi" },
  requests: { cpu: "2000m", memory: "4096Mi" },
};

/** The affinity of the chart `coder`; `presets.antiAffinity` replaces it. */
export const chartAffinity: JsonObject = {
  podAntiAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: [
      {
        podAffinityTerm: {
          labelSelector: {
            matchExpressions: [{ key: "app.kubernetes.io/instance", operator: "In", values: ["coder"] }],
          },
          topologyKey: "kubernetes.io/hostname",
        },
        weight: 1,
      },
    ],
  },
};

/** The termination grace period of the chart `coder`. */
export const chartGracePeriodSeconds = 60;

/** The default name of the ServiceAccount and the PSK Secret in the chart `provisioner`. */
export const provisionerAccount = "coder-provisioner";

const both = {
  image: { repo: "ghcr.io/coder/coder", pullPolicy: "IfNotPresent" },
  securityContext: chartSecurityContext,
  replicaCount: 1,
  command: ["/opt/coder"],
};

export const defaultValues: Readonly<Record<ChartName, JsonObject>> = {
  coder: {
    coder: {
      ...both,
      envUseClusterAccessURL: true,
      serviceAccount: { workspacePerms: true, enableDeployments: true, name: "coder", disableCreate: false },
      workspaceProxy: false,
      readinessProbe: { enabled: true, initialDelaySeconds: 0 },
      livenessProbe: { enabled: false, initialDelaySeconds: 0 },
      affinity: chartAffinity,
      service: {
        enable: true,
        type: "LoadBalancer",
        sessionAffinity: "None",
        externalTrafficPolicy: "Cluster",
      },
      ingress: { enable: false, tls: { enable: false } },
      listenerset: { enable: false },
      httproute: { enable: false, httpsRedirect: { enable: false } },
    },
  },
  provisioner: {
    coder: {
      ...both,
      serviceAccount: {
        workspacePerms: true,
        enableDeployments: true,
        name: provisionerAccount,
        disableCreate: false,
      },
    },
    provisionerDaemon: {
      pskSecretName: "coder-provisioner-psk",
      keySecretKey: "key",
      terminationGracePeriodSeconds: 600,
    },
  },
};
