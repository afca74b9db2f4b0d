import { Deployment, Service } from "kube-controller-runtime";
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
    spec: { image: "example.com/coder:1" },
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
    spec: { extraEnv: [{ name: "COLOUR", value: "blue" }] },
    kind: Deployment,
    shows: withVariable({ name: "COLOUR", value: "blue" }),
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
  verbatim("topologySpreadConstraints", [spread]),
  verbatim("affinity", {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: nodes } },
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
    shows: container({ env: [{ name: "KUBE_POD_IP" }, { name: "CODER_DERP_SERVER_RELAY_URL" }] }),
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
