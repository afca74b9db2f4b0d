import { expect, test } from "vitest";
import {
  clusterAccessURL,
  clusterURL,
  isSameService,
  plainHttpPort,
  service,
  serviceSettings,
  type WithService,
} from "./service.ts";

const target = { name: "http", containerPort: 8080, protocol: "TCP" };

function served(port?: number, { tls = false } = {}): WithService {
  return {
    app: "coder-control-plane",
    identity: { name: "coder", namespace: "dev", uid: "1" },
    childName: "coder",
    service: serviceSettings(port === undefined ? undefined : { port }, { tls, target }),
  };
}

const http = (port: number) => ({ name: "http", port, protocol: "TCP", targetPort: 8080 });
const https = { name: "https", port: 443, protocol: "TCP", targetPort: 8443 };

test.each([
  ["the default", served(), [http(80)]],
  ["another port", served(8000), [http(8000)]],
  ["443 without TLS is plain HTTP", served(443), [http(443)]],
  ["TLS adds 443", served(80, { tls: true }), [http(80), https]],
  ["TLS beside another port", served(8000, { tls: true }), [http(8000), https]],
  ["443 with TLS is TLS, and HTTP moves to 80", served(443, { tls: true }), [https, http(80)]],
])("ports of the Service: %s", (_case, object, expected) => {
  expect(service(object).spec?.ports).toEqual(expected);
});

test.each([
  ["plain", served(), "http://coder.dev.svc.cluster.local:80", "http://coder.dev.svc.cluster.local"],
  ["another port", served(8000), "http://coder.dev.svc.cluster.local:8000", undefined],
  ["443 without TLS", served(443), "http://coder.dev.svc.cluster.local:443", undefined],
  [
    "TLS",
    served(80, { tls: true }),
    "https://coder.dev.svc.cluster.local:443",
    "https://coder.dev.svc.cluster.local",
  ],
  [
    "TLS beside another port",
    served(8000, { tls: true }),
    "https://coder.dev.svc.cluster.local:443",
    "https://coder.dev.svc.cluster.local",
  ],
])("URL with its port, and without one that the scheme implies: %s", (_case, object, url, accessURL) => {
  expect(clusterURL(object, "cluster.local")).toBe(url);
  expect(clusterAccessURL(object, "cluster.local")).toBe(accessURL ?? url);
});

test("the URL is in the cluster's own domain", () => {
  expect(clusterURL(served(), "k8s.corp.example")).toBe("http://coder.dev.svc.k8s.corp.example:80");
});

test.each([
  ["another domain", "http://coder.dev.svc.k8s.corp:80", true],
  ["the same", "http://coder.dev.svc.cluster.local:80", true],
  ["another port", "http://coder.dev.svc.cluster.local:8080", false],
  ["another scheme", "https://coder.dev.svc.cluster.local:80", false],
  ["another Service", "http://other.dev.svc.cluster.local:80", false],
  ["another namespace", "http://coder.prod.svc.cluster.local:80", false],
  ["a host that only begins like it", "http://coder.dev.svc-cluster.local:80", false],
])("the Service of a URL is judged without the domain: %s", (_case, url, expected) => {
  expect(isSameService("http://coder.dev.svc.cluster.local:80", url)).toBe(expected);
});

test("the plain HTTP port is the one that the Service calls http", () => {
  for (const object of [served(), served(443), served(443, { tls: true }), served(8000, { tls: true })]) {
    const named = service(object).spec?.ports?.find(({ name }) => name === "http");
    expect(named?.port).toBe(plainHttpPort(object.service));
  }
});

test("a Service with all of its fields", () => {
  const spec = { type: "LoadBalancer" as const, port: 8000, annotations: { "example.com/lb": "internal" } };
  expect(service({ ...served(), service: serviceSettings(spec, { tls: false, target }) })).toEqual({
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: "coder",
      namespace: "dev",
      labels: {
        "app.kubernetes.io/name": "coder-control-plane",
        "app.kubernetes.io/instance": "coder",
        "app.kubernetes.io/managed-by": "coder-k8s",
      },
      annotations: { "example.com/lb": "internal" },
    },
    spec: {
      type: "LoadBalancer",
      selector: {
        "app.kubernetes.io/name": "coder-control-plane",
        "app.kubernetes.io/instance": "coder",
        "app.kubernetes.io/managed-by": "coder-k8s",
      },
      ports: [http(8000)],
    },
  });
});

test("a Service without annotations claims none", () => {
  expect(service(served()).metadata).not.toHaveProperty("annotations");
  expect(service(served()).spec?.type).toBe("ClusterIP");
});

test("all Service fields of the spec are applied, with node ports on their ports", () => {
  const spec = {
    type: "LoadBalancer" as const,
    externalTrafficPolicy: "Local" as const,
    loadBalancerClass: "example.com/internal",
    loadBalancerIP: "203.0.113.7",
    loadBalancerSourceRanges: ["203.0.113.0/24"],
    sessionAffinity: "ClientIP" as const,
  };
  const ports = { httpNodePort: 30080, httpsNodePort: 30443 };
  const settings = serviceSettings({ ...spec, ...ports }, { tls: true, target });
  expect(service({ ...served(), service: settings }).spec).toEqual({
    ...spec,
    selector: expect.anything(),
    ports: [
      { ...http(80), nodePort: 30080 },
      { ...https, nodePort: 30443 },
    ],
  });
});
