import { accountRows, podRows, templatesRow } from "./pod-rows.ts";
import { inContainer, inPod, type Row, variable } from "./row.ts";

const container = "Deployment spec.template.spec.containers.0";
const host = "coder.example.com";
const extraRule = { apiGroups: [""], resources: ["services"], verbs: ["get"] };
const balanced = { type: "LoadBalancer" as const };

function ofService(name: string, example: unknown, place = `Service spec.${name}`): Row {
  const service = { ...balanced, [name]: example };
  return {
    value: `coder.service.${name}`,
    field: `service.${name}`,
    chart: { service },
    ours: { service },
    shows: [place],
  };
}

function ofIngress(name: string, example: object, place: string): Row {
  return {
    value: `coder.ingress.${name}`,
    field: `expose.ingress.${name}`,
    chart: { ingress: { enable: true, host, ...example } },
    ours: { expose: { ingress: { host, ...example } } },
    shows: [place],
  };
}

function probe(name: "readinessProbe" | "livenessProbe", note?: string): Row {
  const example = { enabled: true, initialDelaySeconds: 7 };
  return {
    value: `coder.${name}`,
    field: name,
    chart: { [name]: example },
    ours: { [name]: example },
    shows: [`${container}.${name}.httpGet`, `${container}.${name}.initialDelaySeconds`],
    ...(note ? { note } : {}),
  };
}

const serviceRows: readonly Row[] = [
  {
    value: "coder.service.enable",
    because:
      "The operator reaches coderd through the Service, so it always exists; `type: ClusterIP` does not expose it.",
  },
  ofService("type", "LoadBalancer"),
  ofService("sessionAffinity", "ClientIP"),
  ofService("externalTrafficPolicy", "Local"),
  ofService("loadBalancerIP", "203.0.113.7"),
  ofService("loadBalancerClass", "example.com/internal"),
  ofService("annotations", { "example.com/pool": "a" }, "Service metadata.annotations"),
  ofService("httpNodePort", 30080, "Service spec.ports[http].nodePort"),
  {
    value: "coder.service.httpsNodePort",
    field: "service.httpsNodePort",
    chart: { service: { ...balanced, httpsNodePort: 30443 }, tls: { secretNames: ["web"] } },
    ours: { service: { ...balanced, httpsNodePort: 30443 }, tls: { secretNames: ["web"] } },
    shows: ["Service spec.ports[https].nodePort"],
  },
];

const tls = { secretName: "web" };
const ingressRows: readonly Row[] = [
  { ...ofIngress("enable", {}, "Ingress"), field: "expose.ingress" },
  ofIngress("className", { className: "nginx" }, "Ingress spec.ingressClassName"),
  ofIngress("host", {}, "Ingress spec.rules.0.host"),
  {
    ...ofIngress("wildcardHost", { wildcardHost: `*.${host}` }, "Ingress spec.rules.1.host"),
    note: "For a suffix, such as `*-apps.example.com`, use `*.example.com`, which the chart renders too.",
  },
  ofIngress("annotations", { annotations: { "example.com/timeout": "60" } }, "Ingress metadata.annotations"),
  {
    value: "coder.ingress.tls",
    field: "expose.ingress.tls",
    chart: {
      ingress: {
        ...{ enable: true, host, wildcardHost: `*.${host}` },
        tls: { enable: true, ...tls, wildcardSecretName: "wild" },
      },
    },
    ours: {
      expose: { ingress: { host, wildcardHost: `*.${host}`, tls: { ...tls, wildcardSecretName: "wild" } } },
    },
    shows: ["Ingress spec.tls"],
    note: "Enabled if a Secret is named.",
  },
];

const parentRefs = [{ name: "public", namespace: "gateways" }];
const plainParent = { kind: "ListenerSet" as const, name: "coder", port: 80 };
const redirected = { annotations: { "example.com/kind": "redirect" }, parentRefs: [plainParent] };

function ofRoute(name: string, example: object, place: string): Row {
  return {
    value: `coder.httproute.${name}`,
    field: `expose.gateway.${name}`,
    chart: { httproute: { enable: true, host, parentRefs, ...example } },
    ours: { expose: { gateway: { host, parentRefs, ...example } } },
    shows: [place],
  };
}

const set = {
  annotations: { "cert-manager.io/issuer": "letsencrypt" },
  parentRef: { name: "public", namespace: "gateways" },
  listeners: [
    {
      ...{ name: "https", hostname: host, port: 443, protocol: "HTTPS" as const },
      tls: { certificateRefs: [{ name: "web" }] },
    },
  ],
};

const gatewayRows: readonly Row[] = [
  { ...ofRoute("enable", {}, "HTTPRoute"), field: "expose.gateway" },
  ofRoute("parentRefs", {}, "HTTPRoute spec.parentRefs"),
  ofRoute("host", {}, "HTTPRoute spec.hostnames.0"),
  ofRoute("wildcardHost", { wildcardHost: `*.${host}` }, "HTTPRoute spec.hostnames.1"),
  ofRoute("annotations", { annotations: { "example.com/team": "a" } }, "HTTPRoute metadata.annotations"),
  {
    value: "coder.httproute.httpsRedirect",
    field: "expose.gateway.httpsRedirect",
    chart: { httproute: { enable: true, host, parentRefs, httpsRedirect: { enable: true, ...redirected } } },
    ours: { expose: { gateway: { host, parentRefs, httpsRedirect: redirected } } },
    shows: ["metadata.name", "metadata.annotations", "spec"].map((path) => `HTTPRoute.1 ${path}`),
  },
  {
    value: "coder.listenerset",
    field: "expose.gateway.listenerSet",
    chart: { listenerset: { enable: true, ...set } },
    ours: { expose: { gateway: { host, parentRefs, listenerSet: set } } },
    shows: ["ListenerSet metadata.annotations", "ListenerSet spec"],
    note: "Requires a route.",
  },
];

/** Every value of the chart `coder`. */
export const serverRows: readonly Row[] = [
  ...podRows,
  inContainer("envFrom", [{ secretRef: { name: "settings" } }]),
  {
    value: "coder.envUseClusterAccessURL",
    field: "envUseClusterAccessURL",
    chart: { envUseClusterAccessURL: false },
    ours: { envUseClusterAccessURL: false },
    shows: [variable("CODER_ACCESS_URL")],
    note: "Need not be turned off if `envFrom` sets the URL.",
  },
  ...accountRows,
  {
    value: "coder.serviceAccount.extraRules",
    field: "rbac.extraRules",
    chart: { serviceAccount: { extraRules: [extraRule] } },
    ours: { rbac: { extraRules: [extraRule] } },
    shows: ["Role rules[services]"],
    note: "The operator must have these rights, and the writer the right to escalate.",
  },
  {
    value: "coder.serviceAccount.workspaceNamespaces",
    field: "rbac.workspaceNamespaces",
    because: "Use the field for the names. There is no field for different permissions per namespace.",
  },
  {
    value: "coder.serviceAccount.labels",
    because: "The field `labels` applies to all objects, including the ServiceAccount.",
  },
  inPod("priorityClassName", "high"),
  inPod("hostAliases", [{ ip: "192.0.2.1", hostnames: ["db.example.com"] }]),
  inPod("podSecurityContext", { fsGroup: 1000 }, "securityContext"),
  {
    value: "coder.tls.secretNames",
    field: "tls.secretNames",
    chart: { tls: { secretNames: ["web"] } },
    ours: { tls: { secretNames: ["web"] } },
    shows: [variable("CODER_TLS_CERT_FILE"), `${container}.volumeMounts`, "Service spec.ports[https].port"],
  },
  {
    value: "coder.workspaceProxy",
    because:
      "Use a [CoderWorkspaceProxy](coderworkspaceproxy.md), which the operator registers in coderd, and whose health it reports.",
  },
  probe("readinessProbe"),
  probe(
    "livenessProbe",
    "Off by default: coderd does not answer during a migration, in which a probe would kill it. Set `livenessProbe.enabled` to turn it on.",
  ),
  {
    value: "coder.affinity",
    field: "presets.antiAffinity",
    chart: {},
    ours: { presets: { antiAffinity: true } },
    shows: ["weight", "podAffinityTerm.topologyKey"].map(
      (field) =>
        `Deployment spec.template.spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution.0.${field}`,
    ),
    note: "It selects pods by the operator's labels. For other affinities use `affinity`.",
  },
  inPod("topologySpreadConstraints", [
    { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway" },
  ]),
  ...serviceRows,
  ...ingressRows,
  ...gatewayRows,
  inContainer("command", ["/usr/bin/coder"]),
  {
    value: "coder.commandArgs",
    field: "extraArgs",
    chart: { commandArgs: ["server", "--verbose"] },
    ours: { extraArgs: ["--verbose"] },
    shows: [`${container}.args.-1`],
    note: "Without the leading `server`; the operator's own arguments stay.",
  },
  {
    value: "provisionerDaemon.pskSecretName",
    field: "extraEnv",
    chart: { provisionerDaemon: { pskSecretName: "psk" } },
    ours: {
      extraEnv: [
        {
          name: "CODER_PROVISIONER_DAEMON_PSK",
          valueFrom: { secretKeyRef: { name: "psk", key: "psk" } },
        },
      ],
    },
    shows: [variable("CODER_PROVISIONER_DAEMON_PSK")],
    note: "Not needed for a CoderProvisioner, which has its own key.",
  },
  templatesRow,
];
