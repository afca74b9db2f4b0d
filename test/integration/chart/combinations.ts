import { pairwise } from "../../support/pairwise.ts";

const digest = `sha256:${"0123456789abcdef".repeat(4)}`;

/** What can be said of the chart, part by part: pieces of its values, each with a name. Saying nothing is one more. */
const pieces: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  scope: {
    "one namespace": { watchNamespaces: ["default"] },
    "two namespaces": { watchNamespaces: ["default", "kube-public"] },
  },
  rbac: { "no roles": { rbac: { create: false } } },
  account: {
    "existing account": { serviceAccount: { create: false, name: "existing" } },
    "named account": { serviceAccount: { name: "mine", annotations: { "example.com/role": "operator" } } },
  },
  replicas: {
    "no replica": { replicas: 0 },
    "one replica": { replicas: 1, extraArgs: ["--no-leader-elect"] },
  },
  image: {
    digest: { image: { repository: "registry.internal:5000/coder-k8s", digest } },
    "private registry": {
      image: { tag: "main_1", pullPolicy: "Always", pullSecrets: [{ name: "registry" }] },
    },
  },
  metrics: {
    "no metrics": { metrics: { enabled: false } },
    "reviewed metrics": { metrics: { auth: true, serviceMonitor: { enabled: true } } },
    monitor: {
      metrics: { serviceMonitor: { enabled: true, labels: { release: "prometheus" }, interval: "1m" } },
    },
    "monitor elsewhere": {
      metrics: {
        serviceMonitor: {
          enabled: true,
          namespace: "kube-public",
          relabelings: [{ sourceLabels: ["__meta_kubernetes_pod_node_name"], targetLabel: "node" }],
          metricRelabelings: [{ sourceLabels: ["__name__"], regex: "nodejs_.*", action: "drop" }],
        },
      },
    },
    alerts: {
      metrics: { serviceMonitor: { enabled: true } },
      alerts: {
        enabled: true,
        labels: { release: "prometheus" },
        runbookURL: "https://wiki.example.com/coder",
        namespace: "kube-public",
        rules: { CoderQueueBacklog: { enabled: false }, CoderLicenseExpiring: { threshold: 30, for: "6h" } },
      },
    },
  },
  dashboard: {
    dashboard: { dashboard: { enabled: true, annotations: { grafana_folder: "Coder" } } },
  },
  budget: {
    "no budget": { podDisruptionBudget: { enabled: false } },
    "half may go": { podDisruptionBudget: { maxUnavailable: "50%" } },
    "one stays": { podDisruptionBudget: { minAvailable: 1 } },
  },
  network: {
    policy: { networkPolicy: { enabled: true } },
    lockdown: { lockdown: true },
    "narrow policy": {
      networkPolicy: {
        enabled: true,
        metricsFrom: [{ namespaceSelector: { matchLabels: { name: "monitoring" } } }],
        egress: [{ ports: [{ port: 443 }], to: [{ ipBlock: { cidr: "10.96.0.1/32" } }] }],
      },
    },
  },
  scheduling: {
    scheduling: {
      priorityClassName: "system-cluster-critical",
      nodeSelector: { "kubernetes.io/os": "linux" },
      tolerations: [{ key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "arch", operator: "Exists" }] }],
          },
        },
      },
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "DoNotSchedule" },
      ],
    },
  },
  pods: {
    "labeled pods": {
      podLabels: { team: "platform", "app.kubernetes.io/name": "not-yours-to-set" },
      podAnnotations: { "example.com/note": "yes: really" },
    },
  },
  process: {
    "tuned process": {
      logLevel: "debug",
      logFormat: "text",
      concurrency: 7,
      extraEnv: [
        { name: "HTTPS_PROXY", value: "http://proxy:3128" },
        { name: "NODE_NAME", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
      ],
    },
    "own authority": {
      extraVolumes: [{ name: "ca", configMap: { name: "internal-ca" } }],
      extraVolumeMounts: [{ name: "ca", mountPath: "/etc/internal-ca", readOnly: true }],
      extraEnv: [{ name: "NODE_EXTRA_CA_CERTS", value: "/etc/internal-ca/ca.crt" }],
    },
  },
  security: {
    OpenShift: {
      podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null },
      resources: { limits: null },
    },
    "own limits": {
      resources: { requests: { cpu: 0.5, memory: "256Mi" }, limits: { cpu: 1 } },
      securityContext: { seccompProfile: { type: "RuntimeDefault" } },
    },
  },
  names: {
    "part of the name": { nameOverride: "operator", commonLabels: { "cost-center": "42" } },
    annotated: { commonAnnotations: { "example.com/owner": "platform" } },
    "whole name": { fullnameOverride: "an-operator-with-a-name-as-long-as-it-may-be-xx" },
  },
};

/** Values, each with a name, in which every two of these pieces meet. */
export function combinations(): { name: string; values: object }[] {
  const factors = Object.fromEntries(
    Object.entries(pieces).map(([part, named]) => [part, [["", {}] as const, ...Object.entries(named)]]),
  );
  return pairwise(factors).map((row) => {
    const chosen = Object.values(row);
    return {
      name: chosen.flatMap(([name]) => name || []).join(", ") || "the defaults",
      values: Object.assign({}, ...chosen.map(([, values]) => values)),
    };
  });
}
