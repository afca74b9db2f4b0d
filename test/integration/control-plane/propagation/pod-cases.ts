import { Deployment, PodDisruptionBudget, Service } from "kube-controller-runtime";
import { expect } from "vitest";
import type { ControlPlaneSpec } from "../../../../src/api/v1alpha1/control-plane.ts";
import { container, type PropagationCase, podSpec } from "./case.ts";

const withVariable = (variable: object) => container({ env: expect.arrayContaining([variable]) });

/** A field of a type that Kubernetes defines, which goes to the pod as it is. */
function verbatim(field: keyof ControlPlaneSpec, value: object, target: string = field): PropagationCase {
  return { field, spec: { [field]: value }, kind: Deployment, shows: podSpec({ [target]: value }) };
}

/** The same for the container. */
function verbatimInContainer(field: keyof ControlPlaneSpec, value: object): PropagationCase {
  return { field, spec: { [field]: value }, kind: Deployment, shows: container({ [field]: value }) };
}

function probe(
  name: "readinessProbe" | "livenessProbe",
  setting:
    | "failureThreshold"
    | "initialDelaySeconds"
    | "periodSeconds"
    | "successThreshold"
    | "timeoutSeconds",
  value: number,
): PropagationCase {
  const field = `${name}.${setting}`;
  const spec = { [name]: { enabled: true, [setting]: value } };
  return { field, spec, kind: Deployment, shows: container({ [name]: { [setting]: value } }) };
}

const labelSelector = { matchLabels: { team: "platform" } };
const spread = { maxSkew: 2, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", labelSelector };
const nodes = [{ matchExpressions: [{ key: "disk", operator: "In", values: ["ssd"] }] }];

export const podCases: readonly PropagationCase[] = [
  {
    field: "image",
    spec: { image: "example.com/coder:1", upgrade: { strategy: "Rolling" } },
    kind: Deployment,
    shows: container({ image: "example.com/coder:1" }),
  },
  { field: "replicas", spec: { replicas: 3 }, kind: Deployment, shows: { spec: { replicas: 3 } } },
  {
    field: "extraArgs",
    spec: { extraArgs: ["--verbose"] },
    kind: Deployment,
    shows: container({ args: ["--http-address=0.0.0.0:8080", "--verbose"] }),
  },
  {
    field: "extraEnv",
    spec: { extraEnv: [{ name: "COLOR", value: "blue" }] },
    kind: Deployment,
    shows: withVariable({ name: "COLOR", value: "blue" }),
  },
  verbatimInContainer("envFrom", [
    { prefix: "OIDC_", secretRef: { name: "oidc" } },
    { configMapRef: { name: "theme" } },
  ]),
  verbatimInContainer("resources", { limits: { memory: "1Gi" }, requests: { cpu: "100m" } }),
  verbatimInContainer("securityContext", { runAsNonRoot: true, capabilities: { drop: ["ALL"] } }),
  verbatim("podSecurityContext", { fsGroup: 1000, supplementalGroups: [7] }, "securityContext"),
  verbatim("imagePullSecrets", [{ name: "registry" }, { name: "mirror" }]),
  verbatim("nodeSelector", { disk: "ssd" }),
  verbatim("tolerations", [{ key: "dedicated", operator: "Exists", effect: "NoSchedule" }]),
  verbatim("hostAliases", [{ ip: "192.0.2.1", hostnames: ["db.example.com"] }]),
  verbatim("topologySpreadConstraints", [spread]),
  verbatim("affinity", {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: nodes } },
  }),
  {
    field: "command",
    spec: { command: ["/usr/bin/coder"] },
    kind: Deployment,
    shows: container({ command: ["/usr/bin/coder"], args: ["server", "--http-address=0.0.0.0:8080"] }),
  },
  {
    field: "imagePullPolicy",
    spec: { imagePullPolicy: "Never" },
    kind: Deployment,
    shows: container({ imagePullPolicy: "Never" }),
  },
  verbatim("initContainers", [
    { name: "wait", image: "busybox", command: ["true"], ports: [{ containerPort: 80 }] },
  ]),
  verbatimInContainer("lifecycle", {
    preStop: { httpGet: { port: "http", path: "/healthz" } },
    postStart: { exec: { command: ["true"] } },
  }),
  verbatim("volumes", [{ name: "cache", emptyDir: { sizeLimit: "1Gi" } }]),
  {
    field: "volumeMounts",
    spec: {
      volumes: [{ name: "cache", emptyDir: {} }],
      volumeMounts: [{ name: "cache", mountPath: "/cache" }],
    },
    kind: Deployment,
    shows: container({ volumeMounts: [{ name: "cache", mountPath: "/cache" }] }),
  },
  {
    field: "envUseClusterAccessURL",
    spec: { envUseClusterAccessURL: false },
    kind: Deployment,
    shows: container({
      env: [{ name: "KUBE_POD_IP" }, { name: "CODER_DERP_SERVER_RELAY_URL" }, { name: "CODER_CLUSTER_HOST" }],
    }),
  },
  {
    field: "readinessProbe.enabled",
    spec: { readinessProbe: { enabled: false } },
    kind: Deployment,
    shows: podSpec({ containers: [expect.not.objectContaining({ readinessProbe: expect.anything() })] }),
  },
  probe("readinessProbe", "failureThreshold", 5),
  probe("readinessProbe", "initialDelaySeconds", 7),
  probe("readinessProbe", "periodSeconds", 11),
  probe("readinessProbe", "successThreshold", 2),
  probe("readinessProbe", "timeoutSeconds", 4),
  {
    field: "livenessProbe.enabled",
    spec: { livenessProbe: { enabled: true } },
    kind: Deployment,
    shows: container({ livenessProbe: { httpGet: { path: "/healthz", port: "http" }, periodSeconds: 10 } }),
  },
  probe("livenessProbe", "failureThreshold", 5),
  probe("livenessProbe", "initialDelaySeconds", 7),
  probe("livenessProbe", "periodSeconds", 11),
  probe("livenessProbe", "successThreshold", 1),
  probe("livenessProbe", "timeoutSeconds", 4),
];

/** Of the Deployment itself, and of what stands around it. */
export const workloadCases: readonly PropagationCase[] = [
  {
    field: "annotations",
    spec: { annotations: { "example.com/owner": "platform" } },
    kind: Deployment,
    shows: { metadata: { annotations: { "example.com/owner": "platform" } } },
  },
  {
    field: "labels",
    spec: { labels: { team: "platform" } },
    kind: Service,
    shows: { metadata: { labels: { team: "platform" } } },
  },
  {
    field: "podAnnotations",
    spec: { podAnnotations: { "example.com/scrape": "true" } },
    kind: Deployment,
    shows: { spec: { template: { metadata: { annotations: { "example.com/scrape": "true" } } } } },
  },
  {
    field: "podLabels",
    spec: { podLabels: { tier: "web" } },
    kind: Deployment,
    shows: { spec: { template: { metadata: { labels: { tier: "web" } } } } },
  },
  {
    field: "priorityClassName",
    spec: { priorityClassName: "system-cluster-critical" },
    kind: Deployment,
    shows: podSpec({ priorityClassName: "system-cluster-critical" }),
  },
  {
    field: "terminationGracePeriodSeconds",
    spec: { terminationGracePeriodSeconds: 60 },
    kind: Deployment,
    shows: podSpec({ terminationGracePeriodSeconds: 60 }),
  },
  {
    field: "minReadySeconds",
    spec: { minReadySeconds: 5 },
    kind: Deployment,
    shows: { spec: { minReadySeconds: 5 } },
  },
  {
    field: "strategy",
    spec: { strategy: { type: "Recreate" } },
    kind: Deployment,
    shows: { spec: { strategy: { type: "Recreate" } } },
  },
  {
    field: "presets.antiAffinity",
    spec: { presets: { antiAffinity: true } },
    kind: Deployment,
    shows: podSpec({
      affinity: {
        podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1 }] },
      },
    }),
  },
  {
    field: "presets.securityContext",
    spec: { presets: { securityContext: true } },
    kind: Deployment,
    shows: container({ securityContext: { runAsNonRoot: true, runAsUser: 1000 } }),
  },
  budget("maxUnavailable", { maxUnavailable: "25%" }),
  budget("minAvailable", { minAvailable: 1 }),
  budget("unhealthyPodEvictionPolicy", { minAvailable: 1, unhealthyPodEvictionPolicy: "AlwaysAllow" }),
];

function budget(
  field: string,
  podDisruptionBudget: NonNullable<ControlPlaneSpec["podDisruptionBudget"]>,
): PropagationCase {
  const spec = { podDisruptionBudget };
  const shows = { spec: podDisruptionBudget };
  return { field: `podDisruptionBudget.${field}`, spec, kind: PodDisruptionBudget, shows };
}

export const certificateCases: readonly PropagationCase[] = [
  {
    field: "tls.secretNames",
    spec: { tls: { secretNames: ["web"] } },
    kind: Service,
    shows: {
      spec: {
        ports: [
          { name: "http", port: 80, targetPort: 8080 },
          { name: "https", port: 443, targetPort: 8443 },
        ],
      },
    },
  },
  {
    field: "certs.secrets.name",
    spec: { certs: { secrets: [{ name: "company", key: "ca.crt" }] } },
    kind: Deployment,
    shows: podSpec({ volumes: [{ name: "ca-cert-company", secret: { secretName: "company" } }] }),
  },
  {
    field: "certs.secrets.key",
    spec: { certs: { secrets: [{ name: "company", key: "root.pem" }] } },
    kind: Deployment,
    shows: container({
      volumeMounts: [{ mountPath: "/etc/ssl/certs/company.crt", subPath: "root.pem", readOnly: true }],
    }),
  },
];
