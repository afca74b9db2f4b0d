import type { Accepted } from "./manifests.ts";

/** What the API server itself adds to an empty spec. */
const defaults = {
  certs: {},
  envUseClusterAccessURL: true,
  image: "ghcr.io/coder/coder:latest",
  livenessProbe: { enabled: false, initialDelaySeconds: 0 },
  operatorAccess: { disabled: false },
  rbac: { enableDeployments: true, workspacePerms: true },
  readinessProbe: { enabled: true, initialDelaySeconds: 0 },
  replicas: 1,
  service: { type: "ClusterIP", port: 80 },
  serviceAccount: { disableCreate: false },
  tls: {},
  upgrade: { strategy: "Safe", drainTimeoutSeconds: 600 },
};

/** Stored as written, with the defaults around it. */
function controlPlane(title: string, spec: object, changed: object = spec): Accepted {
  return { kind: "CoderControlPlane", title, spec, stored: { ...defaults, ...spec, ...changed } };
}

const controlPlanes: readonly Accepted[] = [
  { kind: "CoderControlPlane", title: "an object without a spec", stored: undefined },
  controlPlane("an empty spec", {}),
  controlPlane("no replicas", { replicas: 0 }),
  controlPlane("an exposure that sets no access URL", { expose: { setAccessURL: false } }),
  controlPlane("an address for daemons and restarts for everything", {
    internalURL: "http://[fd00::1]:7080",
    restartOn: "All",
  }),
  controlPlane("an empty image, which means the default", { image: "" }),
  controlPlane(
    "a type of Service without a port",
    { service: { type: "NodePort" } },
    { service: { type: "NodePort", port: 80 } },
  ),
  controlPlane(
    "the highest port",
    { service: { port: 65535 } },
    { service: { type: "ClusterIP", port: 65535 } },
  ),
  controlPlane(
    "a readiness check of which only the period is given",
    { readinessProbe: { periodSeconds: 5 } },
    { readinessProbe: { periodSeconds: 5, initialDelaySeconds: 0 } },
  ),
  controlPlane(
    "a disabled liveness check with a threshold that no enabled one may have",
    { livenessProbe: { enabled: false, successThreshold: 2 } },
    { livenessProbe: { enabled: false, successThreshold: 2, initialDelaySeconds: 0 } },
  ),
  controlPlane("a license whose key is left to the default", { licenseSecretRef: { name: "license" } }),
  controlPlane("an empty key, which means the default", { licenseSecretRef: { name: "license", key: "" } }),
  controlPlane(
    "a first admin of whom only the email address is given",
    { firstAdmin: { email: "admin@example.com" } },
    { firstAdmin: { email: "admin@example.com", username: "admin" } },
  ),
  controlPlane("names with blanks around them", {
    tls: { secretNames: [" coder-tls "] },
    licenseSecretRef: { name: " l " },
  }),
  controlPlane(
    "blank entries among workspace namespaces",
    { rbac: { workspaceNamespaces: ["team-a", ""] } },
    { rbac: { ...defaults.rbac, workspaceNamespaces: ["team-a", ""] } },
  ),
  controlPlane("an exposure that exposes nothing", { expose: {} }),
  controlPlane("a sidecar with a port whose protocol is left to the default", {
    initContainers: [
      { name: "tunnel", restartPolicy: "Always", ports: [{ containerPort: 9000, protocol: "TCP" }] },
    ],
  }),
  controlPlane("a budget in percent", { podDisruptionBudget: { maxUnavailable: "25%" } }),
  controlPlane(
    "settings of a load balancer",
    { service: { type: "LoadBalancer", loadBalancerSourceRanges: ["203.0.113.0/24", "2001:db8::/32"] } },
    {
      service: {
        type: "LoadBalancer",
        port: 80,
        loadBalancerSourceRanges: ["203.0.113.0/24", "2001:db8::/32"],
      },
    },
  ),
  controlPlane("a Gateway", {
    expose: { gateway: { host: "a.example.com", parentRefs: [{ name: "public" }] } },
  }),
  controlPlane("an Ingress with an empty wildcard host", {
    expose: { ingress: { host: "a.example.com", wildcardHost: "" } },
  }),
  controlPlane("no operator access", { operatorAccess: { disabled: true } }),
  controlPlane(
    "a token of one's own",
    { operatorAccess: { tokenSecretRef: { name: "mine" } } },
    { operatorAccess: { disabled: false, tokenSecretRef: { name: "mine", key: "token" } } },
  ),
  controlPlane("quantities as numbers and as strings", { resources: { limits: { cpu: 2, memory: "4Gi" } } }),
  controlPlane("the same variable twice", {
    extraEnv: [
      { name: "A", value: "1" },
      { name: "A", value: "2" },
    ],
  }),
  controlPlane("variables from a Secret with a prefix", {
    envFrom: [{ prefix: "CODER_", secretRef: { name: "env" } }],
  }),
  controlPlane("a volume claim template with labels", {
    volumes: [
      {
        name: "cache",
        ephemeral: {
          volumeClaimTemplate: {
            metadata: { labels: { purpose: "cache" } },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
          },
        },
      },
    ],
  }),
];

/** Only the number of replicas is added to these: their other defaults depend on other objects. */
function provisioner(title: string, spec: object, name?: string): Accepted {
  const whole = { controlPlaneRef: { name: "coder" }, ...spec };
  const stored = { replicas: 1, ...whole };
  return { kind: "CoderProvisioner", title, spec: whole, stored, ...(name && { name }) };
}

const provisioners: readonly Accepted[] = [
  provisioner("only a control plane", {}),
  provisioner("a name of 253 characters", {}, `long.${"n".repeat(248)}`),
  provisioner("a key name of 64 characters", { key: { name: "k".repeat(64) } }),
  provisioner("an empty key name, which means the default", { key: { name: "" } }),
  provisioner("a key name in capitals and with a blank inside", { key: { name: "GPU pool" } }),
  provisioner("tags with empty values", { tags: { gpu: "", zone: "eu/west" } }),
  provisioner("an organization name of 128 characters", { organizationName: "o".repeat(128) }),
  {
    ...provisioner("credentials whose key is left to the default", {
      bootstrap: { credentialsSecretRef: { name: "token" } },
    }),
    stored: {
      controlPlaneRef: { name: "coder" },
      bootstrap: { credentialsSecretRef: { name: "token", key: "token" } },
      replicas: 1,
    },
  },
];

const proxyDefaults = {
  livenessProbe: defaults.livenessProbe,
  readinessProbe: defaults.readinessProbe,
  replicas: 1,
  service: defaults.service,
};

function proxy(title: string, spec: object): Accepted {
  return { kind: "CoderWorkspaceProxy", title, spec, stored: { ...proxyDefaults, ...spec } };
}

const bootstrap = { coderURL: "http://coder.team.svc:8080/base", credentialsSecretRef: { name: "token" } };

const proxies: readonly Accepted[] = [
  proxy("a reference to a control plane", { controlPlaneRef: { name: "coder" } }),
  proxy("a name for users", { controlPlaneRef: { name: "coder" }, registration: { displayName: "Sydney" } }),
  proxy("a given token", {
    primaryAccessURL: "https://coder.example.com",
    proxySessionTokenSecretRef: { name: "token" },
  }),
  proxy("a registration by URL", { bootstrap }),
  proxy("an empty access URL beside a registration", { bootstrap, primaryAccessURL: "" }),
  proxy("a token beside a registration, which wins", {
    bootstrap,
    proxySessionTokenSecretRef: { name: "token" },
  }),
  proxy("a relay", { bootstrap, derpOnly: true, replicas: 0 }),
];

export const accepted: readonly Accepted[] = [...controlPlanes, ...provisioners, ...proxies];
