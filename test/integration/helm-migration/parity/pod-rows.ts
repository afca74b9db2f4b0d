import { inContainer, inPod, type Row, variable } from "./row.ts";

const container = "Deployment spec.template.spec.containers.0";

/** Values that both charts have for the Deployment and its pods. */
export const podRows: readonly Row[] = [
  {
    value: "coder.env",
    field: "extraEnv",
    chart: { env: [{ name: "COLOR", value: "blue" }] },
    ours: { extraEnv: [{ name: "COLOR", value: "blue" }] },
    shows: [variable("COLOR")],
    note: "For metrics add `CODER_PROMETHEUS_ADDRESS=0.0.0.0:2112`, which the charts always set. In a PodMonitor use `portNumber: 2112`.",
  },
  {
    value: "coder.image.repo",
    field: "image",
    chart: { image: { repo: "example.com/coder", tag: "v2.26.0" } },
    ours: { image: "example.com/coder:v2.26.0" },
    shows: [`${container}.image`],
  },
  {
    value: "coder.image.tag",
    field: "image",
    chart: { image: { tag: "v2.26.0" } },
    ours: { image: "ghcr.io/coder/coder:v2.26.0" },
    shows: [`${container}.image`],
  },
  {
    value: "coder.image.pullPolicy",
    field: "imagePullPolicy",
    chart: { image: { tag: "v2", pullPolicy: "Always" } },
    ours: { imagePullPolicy: "Always" },
    shows: [`${container}.imagePullPolicy`],
  },
  {
    value: "coder.image.pullSecrets",
    field: "imagePullSecrets",
    chart: { image: { tag: "v2", pullSecrets: [{ name: "registry" }] } },
    ours: { imagePullSecrets: [{ name: "registry" }] },
    shows: ["Deployment spec.template.spec.imagePullSecrets"],
  },
  inPod("initContainers", [{ name: "wait", image: "busybox", command: ["true"] }]),
  {
    value: "coder.annotations",
    field: "annotations",
    chart: { annotations: { owner: "platform" } },
    ours: { annotations: { owner: "platform" } },
    shows: ["Deployment metadata.annotations"],
  },
  {
    value: "coder.labels",
    field: "labels",
    chart: { labels: { team: "platform" } },
    ours: { labels: { team: "platform" } },
    shows: ["Deployment metadata.labels.team"],
    note: "The field also applies to the other objects.",
  },
  {
    value: "coder.podAnnotations",
    field: "podAnnotations",
    chart: { podAnnotations: { scrape: "true" } },
    ours: { podAnnotations: { scrape: "true" } },
    shows: ["Deployment spec.template.metadata.annotations.scrape"],
  },
  {
    value: "coder.podLabels",
    field: "podLabels",
    chart: { podLabels: { tier: "web" } },
    ours: { podLabels: { tier: "web" } },
    shows: ["Deployment spec.template.metadata.labels.tier"],
  },
  {
    value: "coder.securityContext",
    field: "presets.securityContext",
    chart: {},
    ours: { presets: { securityContext: true } },
    shows: [`${container}.securityContext`],
    note: "For other values than the chart's defaults use `securityContext`.",
  },
  inPod("volumes", [{ name: "cache", emptyDir: {} }]),
  inContainer("volumeMounts", [{ name: "cache", mountPath: "/cache" }]),
  {
    value: "coder.replicaCount",
    field: "replicas",
    chart: { replicaCount: 3 },
    ours: { replicas: 3 },
    shows: ["Deployment spec.replicas"],
  },
  inContainer("lifecycle", { preStop: { exec: { command: ["true"] } } }),
  {
    ...inContainer("resources", { limits: { cpu: "2000m", memory: "4096Mi" } }),
    note: "The charts default to a limit of 2 CPUs and 4 GiB; the operator has no default.",
  },
  {
    value: "coder.certs.secrets",
    field: "certs.secrets",
    chart: { certs: { secrets: [{ name: "company", key: "ca.crt" }] } },
    ours: { certs: { secrets: [{ name: "company", key: "ca.crt" }] } },
    shows: [`${container}.volumeMounts`, "Deployment spec.template.spec.volumes"],
  },
  inPod("tolerations", [{ key: "dedicated", operator: "Exists" }]),
  inPod("nodeSelector", { disk: "ssd" }),
];

const account = "ServiceAccount metadata";

/** Values that both charts have for permissions. */
export const accountRows: readonly Row[] = [
  {
    value: "coder.serviceAccount.workspacePerms",
    field: "rbac.workspacePerms",
    chart: { serviceAccount: { workspacePerms: false } },
    ours: { rbac: { workspacePerms: false } },
    shows: ["Role", "RoleBinding"],
  },
  {
    value: "coder.serviceAccount.enableDeployments",
    field: "rbac.enableDeployments",
    chart: { serviceAccount: { enableDeployments: false } },
    ours: { rbac: { enableDeployments: false } },
    shows: ["Role rules[deployments]"],
  },
  {
    value: "coder.serviceAccount.annotations",
    field: "serviceAccount.annotations",
    chart: { serviceAccount: { annotations: { "iam.example.com/role": "coder" } } },
    ours: { serviceAccount: { annotations: { "iam.example.com/role": "coder" } } },
    shows: [`${account}.annotations`],
  },
  {
    value: "coder.serviceAccount.name",
    field: "serviceAccount.name",
    chart: { serviceAccount: { name: "robot" } },
    ours: { serviceAccount: { name: "robot" } },
    shows: [`${account}.name`, "Deployment spec.template.spec.serviceAccountName"],
  },
  {
    value: "coder.serviceAccount.disableCreate",
    field: "serviceAccount.disableCreate",
    chart: { serviceAccount: { disableCreate: true } },
    ours: { serviceAccount: { disableCreate: true } },
    shows: ["ServiceAccount"],
  },
];

export const templatesRow: Row = {
  value: "extraTemplates",
  because: "The operator renders no templates. Apply these objects yourself.",
};
