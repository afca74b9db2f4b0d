import { Deployment, Ingress, Role, Service, ServiceAccount } from "kube-controller-runtime";
import { expect } from "vitest";
import type { ServiceSpec } from "../../../../src/api/v1alpha1/service.ts";
import { type PropagationCase, podSpec } from "./case.ts";

const host = "coder.example.com";
const wildcardHost = "*.coder.example.com";
const extraRule = { apiGroups: [""], resources: ["configmaps"], resourceNames: ["theme"], verbs: ["get"] };

/** A field that goes into the Service as it is. */
function ofService(field: string, service: ServiceSpec): PropagationCase {
  return { field: `service.${field}`, spec: { service }, kind: Service, shows: { spec: service } };
}

export const networkCases: readonly PropagationCase[] = [
  {
    field: "service.type",
    spec: { service: { type: "LoadBalancer" } },
    kind: Service,
    shows: { spec: { type: "LoadBalancer" } },
  },
  {
    field: "service.port",
    spec: { service: { port: 8000 } },
    kind: Service,
    shows: { spec: { ports: [{ port: 8000, targetPort: 8080 }] } },
  },
  {
    field: "service.annotations",
    spec: { service: { annotations: { "example.com/pool": "a" } } },
    kind: Service,
    shows: { metadata: { annotations: { "example.com/pool": "a" } } },
  },
  ofService("externalTrafficPolicy", { type: "LoadBalancer", externalTrafficPolicy: "Local" }),
  ofService("loadBalancerClass", { type: "LoadBalancer", loadBalancerClass: "example.com/internal" }),
  ofService("loadBalancerIP", { type: "LoadBalancer", loadBalancerIP: "203.0.113.7" }),
  ofService("loadBalancerSourceRanges", {
    type: "LoadBalancer",
    loadBalancerSourceRanges: ["203.0.113.0/24"],
  }),
  ofService("sessionAffinity", { sessionAffinity: "ClientIP" }),
  {
    field: "service.httpNodePort",
    spec: { service: { type: "NodePort", httpNodePort: 30_180 } },
    kind: Service,
    shows: { spec: { ports: [{ name: "http", nodePort: 30_180 }] } },
  },
  {
    field: "service.httpsNodePort",
    spec: { service: { type: "NodePort", httpsNodePort: 30_181 }, tls: { secretNames: ["web"] } },
    kind: Service,
    shows: { spec: { ports: [{ name: "http" }, { name: "https", nodePort: 30_181 }] } },
  },
  {
    field: "expose.ingress.host",
    spec: { expose: { ingress: { host } } },
    kind: Ingress,
    shows: { spec: { rules: [{ host }] } },
  },
  {
    field: "expose.ingress.wildcardHost",
    spec: { expose: { ingress: { host, wildcardHost } } },
    kind: Ingress,
    shows: { spec: { rules: [{ host }, { host: wildcardHost }] } },
  },
  {
    field: "expose.ingress.className",
    spec: { expose: { ingress: { host, className: "nginx" } } },
    kind: Ingress,
    shows: { spec: { ingressClassName: "nginx" } },
  },
  {
    field: "expose.ingress.annotations",
    spec: { expose: { ingress: { host, annotations: { "example.com/timeout": "60" } } } },
    kind: Ingress,
    shows: { metadata: { annotations: { "example.com/timeout": "60" } } },
  },
  {
    field: "expose.ingress.tls.secretName",
    spec: { expose: { ingress: { host, tls: { secretName: "web" } } } },
    kind: Ingress,
    shows: { spec: { tls: [{ hosts: [host], secretName: "web" }] } },
  },
  {
    field: "expose.ingress.tls.wildcardSecretName",
    spec: { expose: { ingress: { host, wildcardHost, tls: { wildcardSecretName: "wild" } } } },
    kind: Ingress,
    shows: { spec: { tls: [{ hosts: [wildcardHost], secretName: "wild" }] } },
  },
];

const rule = (fields: object) => ({ rules: expect.arrayContaining([expect.objectContaining(fields)]) });
const extraRuleCase = (field: keyof typeof extraRule): PropagationCase => ({
  field: `rbac.extraRules.${field}`,
  spec: { rbac: { extraRules: [extraRule] } },
  kind: Role,
  shows: rule({ [field]: extraRule[field] }),
});

export const accountCases: readonly PropagationCase[] = [
  {
    field: "serviceAccount.name",
    spec: { serviceAccount: { name: "robot" } },
    kind: Deployment,
    shows: podSpec({ serviceAccountName: "robot" }),
  },
  {
    field: "serviceAccount.labels",
    spec: { serviceAccount: { labels: { team: "platform" } } },
    kind: ServiceAccount,
    shows: { metadata: { labels: { team: "platform", "app.kubernetes.io/managed-by": "coder-k8s" } } },
  },
  {
    field: "serviceAccount.annotations",
    spec: { serviceAccount: { annotations: { "example.com/role": "coder" } } },
    kind: ServiceAccount,
    shows: { metadata: { annotations: { "example.com/role": "coder" } } },
  },
  {
    field: "rbac.enableDeployments",
    spec: { rbac: { enableDeployments: false } },
    kind: Role,
    shows: { rules: [{ resources: ["pods"] }, { resources: ["persistentvolumeclaims"] }] },
  },
  extraRuleCase("apiGroups"),
  extraRuleCase("resources"),
  extraRuleCase("resourceNames"),
  extraRuleCase("verbs"),
];
