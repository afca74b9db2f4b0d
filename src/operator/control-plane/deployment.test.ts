import { stored } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import type { ControlPlaneSpec } from "../../api/v1alpha1/control-plane.ts";
import type { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { withDefaults } from "../coderd/settings.ts";
import { migrationProbe } from "../workload/probes.ts";
import { controlPlaneDeployment, type DeploymentInputs } from "./deployment.ts";

function build(
  spec: ControlPlaneSpec = {},
  envFromNames: string[] = [],
  cluster: Partial<DeploymentInputs> = {},
) {
  return controlPlaneDeployment(withDefaults(stored<CoderControlPlane>({ spec })), {
    envFromNames: new Set(envFromNames),
    clusterDomain: "cluster.local",
    ...cluster,
  });
}

const podOf = (spec: ControlPlaneSpec) => build(spec).spec?.template.spec;
const containerOf = (spec: ControlPlaneSpec, envFromNames: string[] = []) =>
  build(spec, envFromNames).spec?.template.spec?.containers[0];

const labels = {
  "app.kubernetes.io/name": "coder-control-plane",
  "app.kubernetes.io/instance": "coder",
  "app.kubernetes.io/managed-by": "coder-k8s",
};
const podIP = { name: "KUBE_POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } };
const relay = { name: "CODER_DERP_SERVER_RELAY_URL", value: "http://$(KUBE_POD_IP):8080" };
const clusterHost = { name: "CODER_CLUSTER_HOST", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } };
const clusterURL = { name: "CODER_ACCESS_URL", value: "http://coder.dev.svc.cluster.local" };

test("an empty spec of a control plane results in exactly this", () => {
  expect(build()).toStrictEqual({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "coder", namespace: "dev", labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: "coder",
          containers: [
            {
              name: "coder",
              terminationMessagePolicy: "FallbackToLogsOnError",
              image: "ghcr.io/coder/coder:latest",
              args: ["--http-address=0.0.0.0:8080"],
              env: [podIP, relay, clusterHost, clusterURL],
              ports: [
                { name: "http", containerPort: 8080, protocol: "TCP" },
                { name: "cluster", containerPort: 6222, protocol: "TCP" },
              ],
              readinessProbe: {
                httpGet: { path: "/healthz", port: "http", scheme: "HTTP" },
                initialDelaySeconds: 0,
                periodSeconds: 10,
                timeoutSeconds: 1,
                successThreshold: 1,
                failureThreshold: 3,
              },
            },
          ],
        },
      },
    },
  });
});

describe("what the spec says about pods reaches them", () => {
  const affinity = { nodeAffinity: {} };
  const toleration = { key: "dedicated", operator: "Exists" };
  const spread = { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway" };
  const cache = { name: "cache", emptyDir: {} };

  test.each<[keyof ControlPlaneSpec, ControlPlaneSpec, object]>([
    ["affinity", { affinity }, { affinity }],
    ["nodeSelector", { nodeSelector: { os: "linux" } }, { nodeSelector: { os: "linux" } }],
    ["podSecurityContext", { podSecurityContext: { fsGroup: 1 } }, { securityContext: { fsGroup: 1 } }],
    ["tolerations", { tolerations: [toleration] }, { tolerations: [toleration] }],
    [
      "topologySpreadConstraints",
      { topologySpreadConstraints: [spread] },
      { topologySpreadConstraints: [spread] },
    ],
    [
      "imagePullSecrets",
      { imagePullSecrets: [{ name: "a" }, {}, { name: "b" }, { name: "a" }] },
      { imagePullSecrets: [{ name: "a" }, { name: "b" }] },
    ],
    ["serviceAccount", { serviceAccount: { name: "runner" } }, { serviceAccountName: "runner" }],
    ["volumes", { volumes: [cache] }, { volumes: [cache] }],
    ["initContainers", { initContainers: [{ name: "wait" }] }, { initContainers: [{ name: "wait" }] }],
    ["priorityClassName", { priorityClassName: "high" }, { priorityClassName: "high" }],
    [
      "terminationGracePeriodSeconds",
      { terminationGracePeriodSeconds: 60 },
      { terminationGracePeriodSeconds: 60 },
    ],
  ])("%s", (_field, spec, expected) => {
    expect(podOf(spec)).toMatchObject(expected);
    expect(podOf({})).not.toMatchObject(expected);
  });

  test.each<[keyof ControlPlaneSpec, ControlPlaneSpec, object]>([
    [
      "command",
      { command: ["/usr/bin/coder"] },
      { command: ["/usr/bin/coder"], args: ["server", "--http-address=0.0.0.0:8080"] },
    ],
    ["imagePullPolicy", { imagePullPolicy: "Never" }, { imagePullPolicy: "Never" }],
    ["lifecycle", { lifecycle: { preStop: { sleep: { seconds: 5 } } } }, { lifecycle: { preStop: {} } }],
    ["image", { image: "registry.example.com/coder:v2" }, { image: "registry.example.com/coder:v2" }],
    ["extraArgs", { extraArgs: ["--verbose"] }, { args: ["--http-address=0.0.0.0:8080", "--verbose"] }],
    [
      "extraEnv",
      { extraEnv: [{ name: "A", value: "1" }] },
      { env: [podIP, relay, clusterHost, clusterURL, { name: "A", value: "1" }] },
    ],
    ["envFrom", { envFrom: [{ secretRef: { name: "s" } }] }, { envFrom: [{ secretRef: { name: "s" } }] }],
    ["resources", { resources: { limits: { cpu: "1" } } }, { resources: { limits: { cpu: "1" } } }],
    ["securityContext", { securityContext: { runAsUser: 1 } }, { securityContext: { runAsUser: 1 } }],
    [
      "volumeMounts",
      { volumeMounts: [{ name: "cache", mountPath: "/cache" }] },
      { volumeMounts: [{ name: "cache", mountPath: "/cache" }] },
    ],
    ["readinessProbe", { readinessProbe: { periodSeconds: 5 } }, { readinessProbe: { periodSeconds: 5 } }],
    [
      "livenessProbe",
      { livenessProbe: { enabled: true, failureThreshold: 9 } },
      { livenessProbe: { httpGet: { path: "/healthz", port: "http" }, failureThreshold: 9 } },
    ],
  ])("%s", (_field, spec, expected) => {
    expect(containerOf(spec)).toMatchObject(expected);
    expect(containerOf({})).not.toMatchObject(expected);
  });

  test("replicas", () => {
    expect(build({ replicas: 3 }).spec?.replicas).toBe(3);
    expect(build({ replicas: 0 }).spec?.replicas).toBe(0);
  });

  test("annotations and labels of the Deployment and of its pods, which can't replace those of the operator", () => {
    const spec = {
      annotations: { owner: "platform" },
      labels: { team: "platform", "app.kubernetes.io/name": "mine" },
      podAnnotations: { scrape: "true" },
      podLabels: { tier: "web", "app.kubernetes.io/instance": "mine" },
    };
    const built = build(spec);
    expect(built.metadata).toMatchObject({
      annotations: { owner: "platform" },
      labels: { team: "platform", ...labels },
    });
    expect(built.spec?.template.metadata).toEqual({
      annotations: { scrape: "true" },
      labels: { tier: "web", ...labels },
    });
    expect(built.spec?.selector).toEqual({ matchLabels: labels });
  });

  test("the strategy of a rollout, and for how long a pod must be ready", () => {
    const rolling = { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0 } };
    expect(build({ strategy: rolling, minReadySeconds: 5 }).spec).toMatchObject({
      strategy: rolling,
      minReadySeconds: 5,
    });
  });

  test("the security context of Coder's chart under the user's own fields", () => {
    const presets = { securityContext: true };
    expect(containerOf({ presets })?.securityContext).toEqual({
      runAsNonRoot: true,
      runAsUser: 1000,
      runAsGroup: 1000,
      seccompProfile: { type: "RuntimeDefault" },
      allowPrivilegeEscalation: false,
    });
    const own = { runAsUser: 2000, readOnlyRootFilesystem: true };
    expect(containerOf({ presets, securityContext: own })?.securityContext).toMatchObject({
      ...own,
      runAsNonRoot: true,
    });
    expect(containerOf({ presets: { securityContext: false } })).not.toHaveProperty("securityContext");
  });

  test("the anti-affinity of Coder's chart in addition to the user's affinity, and never instead of the user's anti-affinity", () => {
    const presets = { antiAffinity: true };
    const nodeAffinity = {};
    const apart = [
      {
        weight: 1,
        podAffinityTerm: { labelSelector: { matchLabels: labels }, topologyKey: "kubernetes.io/hostname" },
      },
    ];
    expect(podOf({ presets, affinity: { nodeAffinity } })?.affinity).toEqual({
      nodeAffinity,
      podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: apart },
    });
    const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [] };
    expect(podOf({ presets, affinity: { podAntiAffinity } })?.affinity).toEqual({ podAntiAffinity });
  });

  test("a readiness probe that is off leaves nothing behind", () => {
    expect(containerOf({ readinessProbe: { enabled: false } })).not.toHaveProperty("readinessProbe");
  });

  test("empty lists are not claimed", () => {
    const lists = {
      envFrom: [],
      command: [],
      imagePullSecrets: [],
      initContainers: [],
      tolerations: [],
      topologySpreadConstraints: [],
      volumeMounts: [],
      volumes: [],
    };
    expect(build(lists)).toStrictEqual(build());
  });
});

describe("the access URL", () => {
  const own = { name: "CODER_ACCESS_URL", value: "https://coder.example.com" };
  const ingress = { ingress: { host: "dev.example.com" } };
  const secured = {
    ingress: { host: "dev.example.com", tls: { secretName: "dev-tls" } },
    setAccessURL: true,
  };
  const gateway = { gateway: { host: "dev.example.com", parentRefs: [{ name: "public" }] } };

  test("is in the cluster's own domain", () => {
    const [container] = build({}, [], { clusterDomain: "k8s.corp" }).spec?.template.spec?.containers ?? [];
    expect(container?.env).toContainEqual({ name: own.name, value: "http://coder.dev.svc.k8s.corp" });
  });

  test.each<[string, ControlPlaneSpec, string[], string | undefined]>([
    ["the default port", {}, [], "http://coder.dev.svc.cluster.local"],
    ["another port", { service: { port: 8000 } }, [], "http://coder.dev.svc.cluster.local:8000"],
    ["443 without TLS", { service: { port: 443 } }, [], "http://coder.dev.svc.cluster.local:443"],
    ["TLS", { tls: { secretNames: ["t"] } }, [], "https://coder.dev.svc.cluster.local"],
    [
      "TLS beside another port",
      { service: { port: 8000 }, tls: { secretNames: ["t"] } },
      [],
      "https://coder.dev.svc.cluster.local",
    ],
    ["switched off", { envUseClusterAccessURL: false }, [], undefined],
    ["an exposure that does not ask for it", { expose: ingress }, [], "http://coder.dev.svc.cluster.local"],
    ["that of an Ingress", { expose: { ...ingress, setAccessURL: true } }, [], "http://dev.example.com"],
    ["that of an Ingress with TLS", { expose: secured }, [], "https://dev.example.com"],
    ["that of a Gateway", { expose: { ...gateway, setAccessURL: true } }, [], "https://dev.example.com"],
    [
      "that of the exposure, with the Service's switched off",
      { expose: secured, envUseClusterAccessURL: false },
      [],
      "https://dev.example.com",
    ],
    ["the user's before that of the exposure", { expose: secured, extraEnv: [own] }, [], own.value],
    ["the user's through envFrom before that of the exposure", { expose: secured }, [own.name], undefined],
    ["the user's in extraEnv", { extraEnv: [own] }, [], own.value],
    ["the user's through envFrom", {}, ["CODER_ACCESS_URL"], undefined],
    ["something else through envFrom", {}, ["OTHER"], "http://coder.dev.svc.cluster.local"],
    [
      "the user's in extraEnv, with ours switched off",
      { extraEnv: [own], envUseClusterAccessURL: false },
      [],
      own.value,
    ],
  ])("%s", (_case, spec, envFromNames, expected) => {
    const urls = containerOf(spec, envFromNames)?.env?.filter(({ name }) => name === own.name);
    expect(urls?.map(({ value }) => value)).toEqual(expected === undefined ? [] : [expected]);
  });
});

describe("certificates", () => {
  const tls = { secretNames: ["coder-tls"] };
  const certs = { secrets: [{ name: "company-ca", key: "ca.crt" }] };
  const ports = [
    { name: "http", containerPort: 8080, protocol: "TCP" },
    { name: "cluster", containerPort: 6222, protocol: "TCP" },
    { name: "https", containerPort: 8443, protocol: "TCP" },
  ];

  test("served and trusted ones come before the user's own volumes", () => {
    const volumes = [{ name: "cache", emptyDir: {} }];
    const volumeMounts = [{ name: "cache", mountPath: "/cache" }];
    const pod = podOf({ tls, certs, volumes, volumeMounts });
    expect(pod?.volumes?.map(({ name }) => name)).toEqual(["tls-coder-tls", "ca-cert-company-ca", "cache"]);
    expect(pod?.containers[0]?.volumeMounts?.map(({ mountPath }) => mountPath)).toEqual([
      "/etc/ssl/certs/coder/coder-tls",
      "/etc/ssl/certs/company-ca.crt",
      "/cache",
    ]);
    expect(pod?.containers[0]?.ports).toEqual(ports);
  });

  test("TLS variables are between the access URL and the user's variables", () => {
    const names = containerOf({ tls, extraEnv: [{ name: "A", value: "1" }] })?.env?.map(({ name }) => name);
    expect(names).toEqual([
      "KUBE_POD_IP",
      "CODER_DERP_SERVER_RELAY_URL",
      "CODER_CLUSTER_HOST",
      "CODER_ACCESS_URL",
      "CODER_TLS_ENABLE",
      "CODER_TLS_ADDRESS",
      "CODER_TLS_CERT_FILE",
      "CODER_TLS_KEY_FILE",
      "A",
    ]);
  });

  test("a Secret both served and trusted has a volume for each", () => {
    const both = { tls, certs: { secrets: [{ name: "coder-tls", key: "ca.crt" }] } };
    expect(podOf(both)?.volumes?.map(({ name }) => name)).toEqual(["tls-coder-tls", "ca-cert-coder-tls"]);
  });

  test("the user's volume or mount with the same key replaces that of the operator", () => {
    const volumes = [{ name: "ca-cert-company-ca", configMap: { name: "bundle" } }];
    const volumeMounts = [{ name: "mine", mountPath: "/etc/ssl/certs/coder/coder-tls" }];
    const pod = podOf({ tls, certs, volumes, volumeMounts });
    expect(pod?.volumes).toEqual([
      { name: "tls-coder-tls", secret: { secretName: "coder-tls" } },
      { name: "ca-cert-company-ca", configMap: { name: "bundle" } },
    ]);
    expect(pod?.containers[0]?.volumeMounts?.map(({ name }) => name)).toEqual(["ca-cert-company-ca", "mine"]);
  });
});

test("in a cluster of IPv6 coderd listens there, and its own address has brackets in a URL", () => {
  const spec = { tls: { secretNames: ["t"] } };
  const [container] = build(spec, [], { clusterIP: "fd00:10:96::1" }).spec?.template.spec?.containers ?? [];
  expect(container?.args).toContain("--http-address=[::]:8080");
  expect(container?.env).toEqual(
    expect.arrayContaining([
      { name: "CODER_DERP_SERVER_RELAY_URL", value: "http://[$(KUBE_POD_IP)]:8080" },
      { name: "CODER_TLS_ADDRESS", value: "[::]:8443" },
    ]),
  );
});

test("other probes wait for a start that takes a migration, where the pods are replaced anyway", () => {
  const guarded = build({}, [], { startupProbe: migrationProbe }).spec?.template.spec?.containers[0];
  expect(guarded?.startupProbe).toMatchObject({ httpGet: { path: "/healthz" }, failureThreshold: 8_640 });
  expect(containerOf({})?.startupProbe).toBeUndefined();
});
