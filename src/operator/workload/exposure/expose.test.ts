import { describe, expect, test } from "vitest";
import type { ExposeSpec } from "../../../api/v1alpha1/expose.ts";
import { type Exposed, exposureOf, httpRoutes, ingress, listenerSet } from "./expose.ts";
import { serviceSettings } from "./service.ts";

const target = { name: "http", containerPort: 8080, protocol: "TCP" };

function exposed(spec?: ExposeSpec, { port = 80, tls = false } = {}): Exposed {
  return {
    app: "coder-control-plane",
    identity: { name: "coder", namespace: "dev", uid: "1" },
    childName: "coder",
    service: serviceSettings({ port }, { tls, target }),
    exposure: exposureOf(spec),
  };
}

const metadata = {
  name: "coder",
  namespace: "dev",
  labels: {
    "app.kubernetes.io/name": "coder-control-plane",
    "app.kubernetes.io/instance": "coder",
    "app.kubernetes.io/managed-by": "coder-k8s",
  },
};

const rule = (host: string, port = 80) => ({
  host,
  http: {
    paths: [
      { path: "/", pathType: "Prefix", backend: { service: { name: "coder", port: { number: port } } } },
    ],
  },
});

const parentRefs = [{ name: "public" }];

test("without exposure there is neither an Ingress nor a route", () => {
  for (const spec of [undefined, {}]) {
    expect(ingress(exposed(spec))).toBeUndefined();
    expect(httpRoutes(exposed(spec))).toEqual([]);
  }
});

test("one way excludes the other, also for an object that was stored with both", () => {
  const host = "coder.example.com";
  expect(httpRoutes(exposed({ ingress: { host } }))).toEqual([]);
  expect(ingress(exposed({ gateway: { host, parentRefs } }))).toBeUndefined();
  const both = exposed({ ingress: { host }, gateway: { host, parentRefs } });
  expect(ingress(both)).toBeDefined();
  expect(httpRoutes(both)).toEqual([]);
});

describe("an Ingress", () => {
  test("with only a host", () => {
    expect(ingress(exposed({ ingress: { host: " coder.example.com " } }))).toEqual({
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata,
      spec: { rules: [rule("coder.example.com")] },
    });
  });

  test("with everything", () => {
    const spec = {
      className: " nginx ",
      host: "coder.example.com",
      wildcardHost: " *.coder.example.com ",
      tls: { secretName: " host-tls ", wildcardSecretName: " wildcard-tls " },
      annotations: { "example.com/timeout": "3600" },
    };
    expect(ingress(exposed({ ingress: spec }))).toEqual({
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { ...metadata, annotations: { "example.com/timeout": "3600" } },
      spec: {
        ingressClassName: "nginx",
        rules: [rule("coder.example.com"), rule("*.coder.example.com")],
        tls: [
          { hosts: ["coder.example.com"], secretName: "host-tls" },
          { hosts: ["*.coder.example.com"], secretName: "wildcard-tls" },
        ],
      },
    });
  });

  test.each([
    ["neither Secret", { wildcardHost: "*.x" }, undefined],
    ["an empty tls", { wildcardHost: "*.x", tls: {} }, undefined],
    ["the host's Secret", { tls: { secretName: "a" } }, [{ hosts: ["x"], secretName: "a" }]],
    [
      "the wildcard's Secret",
      { wildcardHost: "*.x", tls: { wildcardSecretName: "b" } },
      [{ hosts: ["*.x"], secretName: "b" }],
    ],
    [
      "a wildcard Secret for no host, as old objects may have",
      { tls: { wildcardSecretName: "b" } },
      undefined,
    ],
    ["blank names", { wildcardHost: " ", className: " ", tls: { secretName: " " } }, undefined],
  ])("terminates TLS with %s", (_case, spec, expected) => {
    expect(ingress(exposed({ ingress: { host: "x", ...spec } }))?.spec?.tls).toEqual(expected);
  });

  test("names no class where the spec does not: the cluster has a default", () => {
    const built = ingress(exposed({ ingress: { host: "x", className: " " } }));
    expect(Object.keys(built?.spec ?? {})).toEqual(["rules"]);
  });
});

describe("a route", () => {
  test("with everything", () => {
    const gateway = {
      host: "coder.example.com",
      wildcardHost: "*.coder.example.com",
      parentRefs: [
        { name: " public ", namespace: " gateways ", sectionName: " https " },
        { name: "internal", namespace: " " },
      ],
    };
    expect(httpRoutes(exposed({ gateway }, { port: 8000 }))[0]).toEqual({
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "HTTPRoute",
      metadata,
      spec: {
        parentRefs: [{ name: "public", namespace: "gateways", sectionName: "https" }, { name: "internal" }],
        hostnames: ["coder.example.com", "*.coder.example.com"],
        rules: [
          {
            matches: [{ path: { type: "PathPrefix", value: "/" } }],
            backendRefs: [{ kind: "Service", name: "coder", port: 8000 }],
          },
        ],
      },
    });
  });

  test("to HTTPS is a separate route on separate listeners", () => {
    const plain = { kind: "ListenerSet" as const, name: "coder", port: 80 };
    const httpsRedirect = { parentRefs: [plain], annotations: { a: "b" } };
    const gateway = { host: "coder.example.com", parentRefs: [{ ...plain, port: 443 }], httpsRedirect };
    const [main, redirect] = httpRoutes(exposed({ gateway }));
    expect(main?.spec?.parentRefs).toEqual([{ ...plain, port: 443 }]);
    expect(redirect).toMatchObject({
      metadata: { name: "coder-https-redirect", annotations: { a: "b" } },
      spec: {
        parentRefs: [plain],
        hostnames: ["coder.example.com"],
        rules: [
          {
            matches: [{ path: { type: "PathPrefix", value: "/" } }],
            filters: [{ type: "RequestRedirect", requestRedirect: { scheme: "https", statusCode: 308 } }],
          },
        ],
      },
    });
    expect(redirect?.spec?.rules[0]).not.toHaveProperty("backendRefs");
  });

  test("may have its own listeners", () => {
    const set = {
      parentRef: { name: "public", namespace: "gateways" },
      listeners: [
        { name: "https", port: 443, protocol: "HTTPS" as const, tls: { certificateRefs: [{ name: "web" }] } },
      ],
      annotations: { "cert-manager.io/issuer": "letsencrypt" },
    };
    const gateway = { host: "coder.example.com", parentRefs, listenerSet: set };
    expect(listenerSet(exposed({ gateway }))).toEqual({
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "ListenerSet",
      metadata: { ...metadata, annotations: set.annotations },
      spec: { parentRef: set.parentRef, listeners: set.listeners },
    });
    expect(listenerSet(exposed({ gateway: { host: "x", parentRefs } }))).toBeUndefined();
  });

  test.each([
    ["no wildcard host", undefined],
    ["a blank one", " "],
    ["the host once more", "coder.example.com"],
  ])("names each host once: %s", (_case, wildcardHost) => {
    const gateway = { host: "coder.example.com", parentRefs, ...(wildcardHost ? { wildcardHost } : {}) };
    expect(httpRoutes(exposed({ gateway }))[0]?.spec?.hostnames).toEqual(["coder.example.com"]);
  });
});

test.each([
  [80, false, 80],
  [443, false, 443],
  [443, true, 80],
  [8000, true, 8000],
])("requests come in by the plain HTTP port: Service port %i, TLS %s", (port, tls, expected) => {
  const byIngress = ingress(exposed({ ingress: { host: "x" } }, { port, tls }));
  const [byRoute] = httpRoutes(exposed({ gateway: { host: "x", parentRefs } }, { port, tls }));
  expect(byIngress?.spec?.rules).toEqual([rule("x", expected)]);
  expect(byRoute?.spec?.rules[0]?.backendRefs?.[0]?.port).toBe(expected);
});
