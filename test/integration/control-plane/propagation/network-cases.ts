import { Deployment, Ingress, Role, Service, ServiceAccount } from "kube-controller-runtime";
import { expect } from "vitest";
import { type PropagationCase, podSpec } from "./case.ts";

const host = "coder.example.com";
const wildcardHost = "*.coder.example.com";
const extraRule = { apiGroups: [""], resources: ["configmaps"], resourceNames: ["theme"], verbs: ["get"] };

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
