import type { Refused } from "./manifests.ts";

const host = "coder.example.com";
const gateway = { host, parentRefs: [{ name: "public" }] };
const ingress = { host };
const rule = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };

function controlPlane(field: string, spec: unknown, says?: string): Refused {
  return { kind: "CoderControlPlane", field, spec, ...(says && { says }) };
}

function provisioner(field: string, spec: object, says?: string): Refused {
  const whole = { controlPlaneRef: { name: "coder" }, ...spec };
  return { kind: "CoderProvisioner", field, spec: whole, ...(says && { says }) };
}

function proxy(field: string, spec: object, says?: string): Refused {
  return { kind: "CoderWorkspaceProxy", field, spec, ...(says && { says }) };
}

const exposures: readonly Refused[] = [
  controlPlane("spec.expose", { expose: { ingress, gateway } }, "mutually exclusive"),
  controlPlane("spec.expose.setAccessURL", { expose: { setAccessURL: true } }, "requires ingress or gateway"),
  controlPlane("spec.internalURL", { internalURL: "coder.internal" }, "http or https URL"),
  controlPlane("spec.internalURL", { internalURL: "https://me:secret@coder" }, "user name or password"),
  controlPlane("spec.restartOn", { restartOn: "Sometimes" }),
  provisioner("spec.restartOn", { restartOn: "" }),
  controlPlane("spec.expose.ingress.host", { expose: { ingress: {} } }),
  controlPlane("spec.expose.ingress.host", { expose: { ingress: { host: "" } } }),
  controlPlane("spec.expose.ingress.host", { expose: { ingress: { host: "Coder_Example" } } }),
  controlPlane("spec.expose.ingress.wildcardHost", {
    expose: { ingress: { host, wildcardHost: "*.*.com" } },
  }),
  controlPlane(
    "spec.expose.ingress.wildcardHost",
    { expose: { ingress: { host, tls: { wildcardSecretName: "wildcard" } } } },
    "requires wildcardHost",
  ),
  controlPlane("spec.expose.ingress.tls.secretName", {
    expose: { ingress: { host, tls: { secretName: "" } } },
  }),
  controlPlane("spec.expose.gateway.host", { expose: { gateway: { parentRefs: gateway.parentRefs } } }),
  controlPlane("spec.expose.gateway.parentRefs", { expose: { gateway: { host } } }),
  controlPlane("spec.expose.gateway.parentRefs", { expose: { gateway: { host, parentRefs: [] } } }),
  controlPlane("spec.expose.gateway.parentRefs", {
    expose: { gateway: { host, parentRefs: Array(33).fill({ name: "public" }) } },
  }),
  controlPlane("spec.expose.gateway.parentRefs[0].name", {
    expose: { gateway: { host, parentRefs: [{ name: "" }] } },
  }),
  controlPlane("spec.expose.gateway.parentRefs[0].namespace", {
    expose: { gateway: { host, parentRefs: [{ name: "public", namespace: "Not_One" }] } },
  }),
];

const workloads: readonly Refused[] = [
  controlPlane("spec.labels", { labels: { "app.kubernetes.io/name": "mine" } }, "which the operator sets"),
  controlPlane(
    "spec.labels",
    { labels: { "coder.com/control-plane": "other" } },
    "reserved for the operator",
  ),
  controlPlane(
    "spec.podLabels",
    { podLabels: { "app.kubernetes.io/instance": "mine" } },
    "which the operator sets",
  ),
  provisioner(
    "spec.annotations",
    { annotations: { "coder.com/adopt-by": "x" } },
    "reserved for the operator",
  ),
  provisioner("spec.podAnnotations", { podAnnotations: { "coder.com/x": "y" } }, "reserved for the operator"),
  controlPlane("spec.podDisruptionBudget", { podDisruptionBudget: {} }, "exactly one of minAvailable"),
  controlPlane(
    "spec.podDisruptionBudget",
    { podDisruptionBudget: { minAvailable: 1, maxUnavailable: 1 } },
    "exactly one of minAvailable",
  ),
  controlPlane("spec.podDisruptionBudget.minAvailable", { podDisruptionBudget: { minAvailable: "half" } }),
  controlPlane(
    "spec.strategy.rollingUpdate",
    { strategy: { type: "Recreate", rollingUpdate: { maxSurge: 1 } } },
    "requires type RollingUpdate",
  ),
  controlPlane("spec.minReadySeconds", { minReadySeconds: -1 }),
  controlPlane("spec.imagePullPolicy", { imagePullPolicy: "Sometimes" }),
  controlPlane("spec.initContainers", { initContainers: Array(17).fill({ name: "x" }) }),
  controlPlane(
    "spec.service.loadBalancerClass",
    { service: { loadBalancerClass: "example.com/x" } },
    "requires type LoadBalancer",
  ),
  controlPlane("spec.service.httpNodePort", { service: { httpNodePort: 30000 } }, "requires type NodePort"),
  controlPlane("spec.service.loadBalancerSourceRanges[0]", {
    service: { type: "LoadBalancer", loadBalancerSourceRanges: ["everybody"] },
  }),
];

const constraint = { topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" };

const duplicates: readonly Refused[] = [
  controlPlane(
    "spec.volumes[1]",
    { volumes: [{ name: "a", emptyDir: {} }, { name: "a" }] },
    "Duplicate value",
  ),
  provisioner("spec.volumeMounts[1]", {
    volumeMounts: [
      { name: "a", mountPath: "/a" },
      { name: "b", mountPath: "/a" },
    ],
  }),
  proxy("spec.topologySpreadConstraints[1]", {
    topologySpreadConstraints: [
      { ...constraint, maxSkew: 1 },
      { ...constraint, maxSkew: 2 },
    ],
  }),
];

const secrets: readonly Refused[] = [
  controlPlane("spec.tls.secretNames[0]", { tls: { secretNames: [""] } }),
  controlPlane("spec.tls.secretNames[1]", { tls: { secretNames: ["fine", "Not_Fine"] } }),
  controlPlane("spec.certs.secrets[0].key", { certs: { secrets: [{ name: "ca" }] } }),
  controlPlane("spec.certs.secrets[0].name", { certs: { secrets: [{ name: "", key: "ca.crt" }] } }),
  controlPlane("spec.licenseSecretRef.name", { licenseSecretRef: {} }),
  controlPlane("spec.licenseSecretRef.name", { licenseSecretRef: { name: "" } }),
  controlPlane("spec.licenseSecretRef.name", { licenseSecretRef: { name: "   " } }),
  controlPlane("spec.licenseSecretRef.name", { licenseSecretRef: { name: "x".repeat(254) } }),
  controlPlane("spec.licenseSecretRef.key", { licenseSecretRef: { name: "license", key: "a/b" } }),
  controlPlane("spec.operatorAccess.generatedTokenSecretName", {
    operatorAccess: { generatedTokenSecretName: "" },
  }),
  controlPlane("spec.operatorAccess.tokenSecretRef.name", {
    operatorAccess: { tokenSecretRef: { name: "" } },
  }),
  controlPlane(
    "spec.operatorAccess",
    { operatorAccess: { tokenSecretRef: { name: "mine" }, generatedTokenSecretName: "yours" } },
    "mutually exclusive",
  ),
];

const firstAdmin = (spec: object) => ({ firstAdmin: { email: "admin@example.com", ...spec } });
const users: readonly Refused[] = [
  controlPlane("spec.firstAdmin.email", { firstAdmin: {} }),
  controlPlane("spec.firstAdmin.email", firstAdmin({ email: "admin" })),
  controlPlane("spec.firstAdmin.email", firstAdmin({ email: "Admin <admin@example.com>" })),
  controlPlane("spec.firstAdmin.email", firstAdmin({ email: `${"x".repeat(251)}@x.y` })),
  controlPlane("spec.firstAdmin.username", firstAdmin({ username: "" })),
  controlPlane("spec.firstAdmin.username", firstAdmin({ username: "-admin" })),
  controlPlane("spec.firstAdmin.username", firstAdmin({ username: "an admin" })),
  controlPlane("spec.firstAdmin.username", firstAdmin({ username: "x".repeat(33) })),
  controlPlane("spec.firstAdmin.username", firstAdmin({ username: "Coder-K8s-Operator" }), "reserve"),
  controlPlane("spec.firstAdmin.name", firstAdmin({ name: " Admin" })),
  controlPlane("spec.firstAdmin.name", firstAdmin({ name: "x".repeat(129) })),
  controlPlane("spec.firstAdmin.passwordSecretRef.name", firstAdmin({ passwordSecretRef: { name: "" } })),
  controlPlane(
    "spec.firstAdmin.passwordSecretRef.key",
    firstAdmin({ passwordSecretRef: { name: "a", key: "a/b" } }),
  ),
];

const passwordSecretTaken: Refused = {
  kind: "CoderControlPlane",
  name: "taken",
  field: "spec.operatorAccess.generatedTokenSecretName",
  spec: { ...firstAdmin({}), operatorAccess: { generatedTokenSecretName: "taken-first-admin" } },
  says: "must not be the name of the Secret for the password",
};

const permissions: readonly Refused[] = [
  controlPlane("spec.rbac.extraRules[0].verbs", { rbac: { extraRules: [{ ...rule, verbs: undefined }] } }),
  controlPlane("spec.rbac.extraRules[0].verbs", { rbac: { extraRules: [{ ...rule, verbs: [] }] } }),
  controlPlane(
    "spec.rbac.extraRules[0].apiGroups",
    { rbac: { extraRules: [{ ...rule, apiGroups: [] }] } },
    'use [""] for the core group',
  ),
  controlPlane("spec.rbac.extraRules[0].resources", { rbac: { extraRules: [{ ...rule, resources: [] }] } }),
  controlPlane(
    "spec.rbac.extraRules[0].nonResourceURLs",
    { rbac: { extraRules: [{ ...rule, nonResourceURLs: ["/metrics"] }] } },
    "not allowed in a Role",
  ),
  controlPlane("spec.rbac.workspaceNamespaces[0]", { rbac: { workspaceNamespaces: ["team a"] } }),
  controlPlane("spec.rbac.workspaceNamespaces[0]", { rbac: { workspaceNamespaces: ["x".repeat(64)] } }),
  controlPlane("spec.rbac.workspacePerms", { rbac: { workspacePerms: "yes" } }),
  controlPlane("spec.serviceAccount.name", { serviceAccount: { name: "Coder" } }),
];

const numbersAndTypes: readonly Refused[] = [
  controlPlane("spec.image", { image: 5 }),
  controlPlane("spec.replicas", { replicas: -1 }, "greater than or equal to 0"),
  controlPlane("spec.replicas", { replicas: "3" }),
  controlPlane("spec.replicas", { replicas: 1.5 }),
  controlPlane("spec.service.port", { service: { port: 0 } }),
  controlPlane("spec.service.port", { service: { port: 65536 } }),
  controlPlane("spec.service.type", { service: { type: "ExternalName" } }, '"LoadBalancer"'),
  controlPlane("spec.service.annotations.answer", { service: { annotations: { answer: 42 } } }),
  controlPlane("spec.readinessProbe.periodSeconds", { readinessProbe: { enabled: true, periodSeconds: -1 } }),
  controlPlane(
    "spec.livenessProbe.successThreshold",
    { livenessProbe: { enabled: true, successThreshold: 2 } },
    "must be 1",
  ),
  controlPlane("spec.extraArgs", { extraArgs: "--verbose" }),
  controlPlane("spec.extraEnv[0].name", { extraEnv: [{ value: "x" }] }),
  controlPlane("spec.extraEnv[0].value", { extraEnv: [{ name: "PORT", value: 80 }] }),
  controlPlane("spec.volumes[0].name", { volumes: [{ emptyDir: {} }] }),
  controlPlane("spec.volumeMounts[0].mountPath", { volumeMounts: [{ name: "data" }] }),
  controlPlane("spec.resources.limits.cpu", { resources: { limits: { cpu: "lots" } } }),
  controlPlane("spec.tolerations", { tolerations: "dedicated" }),
  controlPlane("spec.nodeSelector.zone", { nodeSelector: { zone: 1 } }),
  { ...controlPlane("metadata.name", {}, "must not contain a dot"), name: "coder.example" },
];

const unknownFields: readonly Refused[] = [
  controlPlane("spec.replica", { replica: 3 }),
  controlPlane("spec.service.prot", { service: { prot: 80 } }),
  controlPlane("spec.volumes[0].secret.secretNmae", {
    volumes: [{ name: "s", secret: { secretNmae: "x" } }],
  }),
  provisioner("spec.organizationname", { organizationname: "default" }),
  proxy("spec.controlPlaneRef.namespace", { controlPlaneRef: { name: "coder", namespace: "other" } }),
];

const provisioners: readonly Refused[] = [
  { kind: "CoderProvisioner", field: "spec", says: "must be the name of a CoderControlPlane" },
  provisioner("spec.controlPlaneRef", { controlPlaneRef: undefined }),
  provisioner(
    "spec.controlPlaneRef.name",
    { controlPlaneRef: {} },
    "must be the name of a CoderControlPlane",
  ),
  provisioner("spec.controlPlaneRef.name", { controlPlaneRef: { name: "" } }),
  provisioner("spec.key.name", { key: { name: "k".repeat(65) } }, "at most 64 characters"),
  provisioner("spec.key.name", { key: { name: "k".repeat(129) } }),
  provisioner("spec.key.name", { key: { name: "team/gpu" } }, "slash"),
  provisioner("spec.key.name", { key: { name: "PSK" } }, "reserved by coderd"),
  provisioner("spec.key.name", { key: { name: "built-in" } }, "reserved by coderd"),
  provisioner("spec.key.name", { key: { name: " gpu " } }, "a space"),
  provisioner("spec.key.secretName", { key: { secretName: "" } }),
  provisioner("spec.key.secretName", { key: { secretName: "x".repeat(254) } }),
  provisioner("spec.key.secretKey", { key: { secretKey: "a b" } }),
  provisioner("spec.organizationName", { organizationName: "o".repeat(129) }),
  provisioner("spec.tags", { tags: { "": "gpu" } }, "empty name"),
  provisioner("spec.tags.gpu", { tags: { gpu: true } }),
  provisioner("spec.replicas", { replicas: -2 }),
  provisioner("spec.terminationGracePeriodSeconds", { terminationGracePeriodSeconds: -1 }),
  provisioner("spec.bootstrap.credentialsSecretRef", { bootstrap: {} }),
  provisioner("spec.bootstrap.credentialsSecretRef.name", {
    bootstrap: { credentialsSecretRef: { name: "" } },
  }),
  provisioner("spec.topologySpreadConstraints[0].whenUnsatisfiable", {
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone" }],
  }),
];

const controlPlaneRef = { name: "coder" };
const token = { proxySessionTokenSecretRef: { name: "token" } };
const bootstrap = { coderURL: "https://coder.example.com", credentialsSecretRef: { name: "token" } };

const proxies: readonly Refused[] = [
  { kind: "CoderWorkspaceProxy", field: "spec", says: "must specify controlPlaneRef" },
  proxy("spec.controlPlaneRef", {}, "must specify controlPlaneRef"),
  proxy("spec.primaryAccessURL", token, "requires primaryAccessURL"),
  proxy("spec.primaryAccessURL", { ...token, primaryAccessURL: "" }, "requires primaryAccessURL"),
  proxy(
    "spec.primaryAccessURL",
    { ...token, primaryAccessURL: "coder.example.com" },
    "https://coder.example.com",
  ),
  proxy("spec.primaryAccessURL", { ...token, primaryAccessURL: "ftp://coder.example.com" }),
  proxy("spec.proxySessionTokenSecretRef.name", {
    proxySessionTokenSecretRef: { name: "" },
    primaryAccessURL: "https://coder.example.com",
  }),
  proxy("spec.bootstrap.coderURL", { bootstrap: { credentialsSecretRef: { name: "token" } } }),
  proxy("spec.bootstrap.coderURL", { bootstrap: { ...bootstrap, coderURL: "https://" } }),
  proxy(
    "spec.bootstrap.coderURL",
    { bootstrap: { ...bootstrap, coderURL: "https://me:pass@coder.example.com" } },
    "must not contain a user name or password",
  ),
  proxy("spec.bootstrap.credentialsSecretRef", { bootstrap: { coderURL: bootstrap.coderURL } }),
  proxy("spec.bootstrap.credentialsSecretRef.name", {
    bootstrap: { ...bootstrap, credentialsSecretRef: { name: "" } },
  }),
  proxy(
    "spec.bootstrap.proxyName",
    { bootstrap: { ...bootstrap, proxyName: "Primary" } },
    "must not be primary",
  ),
  proxy("spec.bootstrap.generatedTokenSecretName", {
    bootstrap: { ...bootstrap, generatedTokenSecretName: "" },
  }),
  proxy("spec.controlPlaneRef", { controlPlaneRef, bootstrap }, "cannot be combined"),
  proxy(
    "spec.controlPlaneRef",
    { controlPlaneRef, ...token },
    "cannot be combined with bootstrap or proxySessionTokenSecretRef",
  ),
  proxy("spec.controlPlaneRef.name", { controlPlaneRef: { name: "" } }),
  proxy("spec.registration", { bootstrap, registration: { displayName: "Sydney" } }, "controlPlaneRef"),
  proxy("spec.service.port", { controlPlaneRef, service: { port: 70000 } }),
  proxy("spec.service.type", { controlPlaneRef, service: { type: "Headless" } }),
  proxy("spec.expose", { controlPlaneRef, expose: { ingress, gateway } }, "mutually exclusive"),
  proxy("spec.derpOnly", { controlPlaneRef, derpOnly: "no" }),
  { ...proxy("metadata.name", { controlPlaneRef }, "must not contain a dot"), name: "sydney.example" },
];

const queues: readonly Refused[] = [
  provisioner("spec.autoscaling.maxReplicas", { autoscaling: {} }),
  provisioner("spec.autoscaling.maxReplicas", { autoscaling: { maxReplicas: 0 } }),
  provisioner("spec.autoscaling.keepWarmMinutes", { autoscaling: { maxReplicas: 1, keepWarmMinutes: -1 } }),
  provisioner("spec.autoscaling.keepWarmMinutes", { autoscaling: { maxReplicas: 1, keepWarmMinutes: 1441 } }),
  provisioner(
    "spec.autoscaling",
    { autoscaling: { minReplicas: 3, maxReplicas: 2 } },
    "minReplicas must not",
  ),
  provisioner(
    "spec.autoscaling",
    { autoscaling: { maxReplicas: 2, fallbackReplicas: 3 } },
    "fallbackReplicas must not",
  ),
  provisioner("spec.autoscaling.pollSeconds", { autoscaling: { maxReplicas: 2, pollSeconds: 1 } }),
];

const at = { controlPlaneRef: { name: "coder" } };

const group = (field: string, spec: object, says?: string): Refused => ({
  kind: "CoderGroup",
  spec: { ...at, ...spec },
  field,
  ...(says === undefined ? {} : { says }),
});

const organization = (field: string, spec: object, says?: string): Refused => ({
  ...group(field, spec, says),
  kind: "CoderOrganization",
});

const inside: readonly Refused[] = [
  { kind: "CoderGroup", field: "spec", says: "controlPlaneRef.name must be the name" },
  { kind: "CoderGroup", spec: {}, field: "spec.controlPlaneRef" },
  { ...group("metadata.name", {}, "spec.name must be set"), name: "with.dot" },
  { ...group("spec.name", {}, "which coderd reserves"), name: "new" },
  group("spec.name", { name: "two words" }),
  group("spec.name", { name: "create" }, "which coderd reserves"),
  group("spec.quotaAllowance", { quotaAllowance: -1 }),
  group("spec.members[1]", { members: ["ada", "ada"] }),
  group("spec.members[0]", { members: ["a b"] }),
  group("spec.displayName", { displayName: " blank" }),
  group("spec.managementPolicy", { managementPolicy: "Watch" }),
  group("spec.deletionPolicy", { deletionPolicy: "Orphan" }),
  group("spec.organizationName", { organizationName: "" }),
  organization("spec.name", { name: "default" }, "only an alias"),
  organization(
    "spec.customRoles",
    { customRoles: [{ name: "Builder" }, { name: "builder" }] },
    "differ by case alone",
  ),
  organization("spec.name", { name: "a".repeat(33) }),
  organization("spec.displayName", { displayName: "" }),
  organization("spec.customRoles[1]", { customRoles: [{ name: "a" }, { name: "a" }] }),
  organization("spec.customRoles[0].permissions[0].actions", {
    customRoles: [{ name: "a", permissions: [{ resourceType: "template", actions: [] }] }],
  }),
  organization("spec.idpSync.groups.field", { idpSync: { groups: { mapping: {} } } }),
  organization("spec.idpSync.roles.mapping.a[0]", {
    idpSync: { roles: { field: "r", mapping: { a: [""] } } },
  }),
];

export const refused: readonly Refused[] = [
  ...inside,
  ...workloads,
  ...exposures,
  ...duplicates,
  ...secrets,
  ...users,
  passwordSecretTaken,
  ...permissions,
  ...numbersAndTypes,
  ...unknownFields,
  ...provisioners,
  ...queues,
  ...proxies,
];
