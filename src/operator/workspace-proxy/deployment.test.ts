import { stored } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import type { CoderWorkspaceProxy } from "../../api/v1alpha1/kinds.ts";
import type { WorkspaceProxySpec } from "../../api/v1alpha1/workspace-proxy.ts";
import { service } from "../workload/exposure/service.ts";
import { proxyDeployment, tokenChecksum } from "./deployment.ts";
import { tokenSecret } from "./registration/token-secret.ts";
import { withDefaults } from "./spec.ts";

const proxyOf = (spec: WorkspaceProxySpec) =>
  withDefaults(stored<CoderWorkspaceProxy>({ spec }, { name: "sydney" }));

function build(spec: WorkspaceProxySpec = {}, envFromNames: string[] = []) {
  return proxyDeployment(proxyOf(spec), {
    image: "ghcr.io/coder/coder:v2.36.1",
    primaryAccessURL: "https://coder.example.com",
    token: { name: "sydney-proxy-token", key: "token" },
    tokenChecksum: tokenChecksum("token-value"),
    envFromNames: new Set(envFromNames),
    clusterDomain: "cluster.local",
  });
}

const containerOf = (spec: WorkspaceProxySpec, envFromNames: string[] = []) =>
  build(spec, envFromNames).spec?.template.spec?.containers[0];

const labels = {
  "app.kubernetes.io/name": "coder-workspace-proxy",
  "app.kubernetes.io/instance": "sydney",
  "app.kubernetes.io/managed-by": "coder-k8s",
};

test("an empty spec of a proxy results in exactly this", () => {
  expect(build()).toStrictEqual({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "wsproxy-sydney", namespace: "dev", labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: { "checksum/proxy-token": "4e9ddff2" } },
        spec: {
          containers: [
            {
              name: "workspace-proxy",
              terminationMessagePolicy: "FallbackToLogsOnError",
              image: "ghcr.io/coder/coder:v2.36.1",
              command: ["/opt/coder"],
              args: ["wsproxy", "server", "--http-address=0.0.0.0:3001"],
              env: [
                { name: "CODER_PRIMARY_ACCESS_URL", value: "https://coder.example.com" },
                {
                  name: "CODER_PROXY_SESSION_TOKEN",
                  valueFrom: { secretKeyRef: { name: "sydney-proxy-token", key: "token" } },
                },
                { name: "CODER_ACCESS_URL", value: "http://wsproxy-sydney.dev.svc.cluster.local" },
              ],
              ports: [{ name: "http", containerPort: 3001, protocol: "TCP" }],
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

test("a relay only, with the user's arguments last", () => {
  expect(containerOf({ derpOnly: true, extraArgs: ["--verbose"] })?.args).toEqual([
    "wsproxy",
    "server",
    "--http-address=0.0.0.0:3001",
    "--derp-only",
    "--verbose",
  ]);
});

test("TLS is served beside HTTP, and the Service has a port for it", () => {
  const spec = { tls: { secretNames: ["t"] } };
  expect(containerOf(spec)?.ports?.map(({ containerPort }) => containerPort)).toEqual([3001, 8443]);
  expect(service(proxyOf(spec)).spec?.ports).toEqual([
    { name: "http", port: 80, protocol: "TCP", targetPort: 3001 },
    { name: "https", port: 443, protocol: "TCP", targetPort: 8443 },
  ]);
});

describe("the URLs under which the proxy reports itself", () => {
  const host = "sydney.example.com";
  const wildcardHost = "*.sydney.example.com";
  const parentRefs = [{ name: "public" }];
  const variable = (name: string, value: string) => ({ name, value });
  const access = (value: string) => variable("CODER_ACCESS_URL", value);
  const wildcard = variable("CODER_WILDCARD_ACCESS_URL", wildcardHost);

  test.each<[string, WorkspaceProxySpec, string[], object[]]>([
    [
      "inside the cluster, with TLS",
      { tls: { secretNames: ["t"] } },
      [],
      [access("https://wsproxy-sydney.dev.svc.cluster.local")],
    ],
    [
      "by an Ingress without TLS",
      { expose: { ingress: { host, wildcardHost } } },
      [],
      [access("http://sydney.example.com"), wildcard],
    ],
    [
      "by an Ingress with TLS",
      { expose: { ingress: { host, tls: { secretName: "s" } } } },
      [],
      [access("https://sydney.example.com")],
    ],
    [
      "by a Gateway",
      { expose: { gateway: { host, wildcardHost, parentRefs } } },
      [],
      [access("https://sydney.example.com"), wildcard],
    ],
    [
      "as the user says in extraEnv",
      { expose: { ingress: { host, wildcardHost } }, extraEnv: [access("https://other.example.com")] },
      [],
      [wildcard, access("https://other.example.com")],
    ],
    [
      "as the user says through envFrom",
      { expose: { ingress: { host, wildcardHost } } },
      ["CODER_ACCESS_URL", "CODER_WILDCARD_ACCESS_URL"],
      [],
    ],
  ])("%s", (_case, spec, envFromNames, expected) => {
    const urls = containerOf(spec, envFromNames)?.env?.filter(({ name }) =>
      /^CODER_(WILDCARD_)?ACCESS/.test(name),
    );
    expect(urls).toEqual(expected);
  });
});

test("a new token replaces the pods", () => {
  expect(tokenChecksum("token-value")).not.toBe(tokenChecksum("another"));
});

test("the token is kept where the registration says", () => {
  const proxy = proxyOf({ controlPlaneRef: { name: "coder" } });
  const registration = {
    proxyName: "sydney",
    displayName: "",
    icon: "",
    token: { name: "kept-here", key: "token" },
  };
  expect(tokenSecret(proxy, registration, "not-a-secret")).toEqual({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "kept-here", namespace: "dev", labels },
    type: "Opaque",
    data: { token: "bm90LWEtc2VjcmV0" },
  });
});
