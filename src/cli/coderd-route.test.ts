import type { Credentials } from "kube-controller-runtime";
import { describe, expect, test } from "vitest";
import { coderdRoute } from "./coderd-route.ts";

const coderd = new URL("http://coder.dev.svc.cluster.local:80");

/** Credentials that change on every call, with certificates that `rotate` changes. */
function credentials(pathPrefix = ""): Credentials & { rotate(): void } {
  let questions = 0;
  let tls = { ca: "first" };
  return {
    origin: "https://api.example:6443",
    pathPrefix,
    get tls() {
      return tls;
    },
    headers: async () => ({ authorization: `Bearer ${++questions}` }),
    refresh: async () => {},
    rotate: () => {
      tls = { ca: "second" };
    },
  };
}

test("direct connects to the URL itself", async () => {
  const url = new URL("https://coder.dev.svc.cluster.local:443/below/");
  expect(await coderdRoute("direct", credentials())(url)).toEqual({
    origin: "https://coder.dev.svc.cluster.local",
    pathPrefix: "/below",
    headers: {},
  });
});

test("a fixed address is used for every coderd, and the Host header distinguishes them", async () => {
  const route = coderdRoute("http://127.0.0.1:3000/coder/", credentials());
  expect(await route(coderd)).toEqual({
    origin: "http://127.0.0.1:3000",
    pathPrefix: "/coder",
    headers: { host: "coder.dev.svc.cluster.local" },
  });
});

describe("the service proxy", () => {
  test.each([
    ["http://coder.dev.svc.cluster.local:80", "/api/v1/namespaces/dev/services/http:coder:80/proxy"],
    ["http://coder.dev.svc.cluster.local:7080", "/api/v1/namespaces/dev/services/http:coder:7080/proxy"],
    ["https://coder.dev.svc.cluster.local:443", "/api/v1/namespaces/dev/services/https:coder:443/proxy"],
  ])("reaches %s below the API server", async (url, path) => {
    const { origin, pathPrefix } = await coderdRoute("service-proxy", credentials())(new URL(url));
    expect([origin, pathPrefix]).toEqual(["https://api.example:6443", path]);
  });

  test.each(["https://coder.example.com", "https://coder.example.com:8443", "http://coder.svc"])(
    "does not treat %s as a Service and connects directly, without the API server's credentials",
    async (url) => {
      const route = await coderdRoute("service-proxy", credentials())(new URL(url));
      expect(route).toMatchObject({ origin: new URL(url).origin, headers: {} });
    },
  );

  test("keeps the path under which the API server is served", async () => {
    const { pathPrefix } = await coderdRoute("service-proxy", credentials("/k8s/clusters/c-1"))(coderd);
    expect(pathPrefix).toBe("/k8s/clusters/c-1/api/v1/namespaces/dev/services/http:coder:80/proxy");
  });

  test("requests credentials for every request", async () => {
    const route = coderdRoute("service-proxy", credentials());
    expect((await route(coderd)).headers).toEqual({ authorization: "Bearer 1" });
    expect((await route(coderd)).headers).toEqual({ authorization: "Bearer 2" });
  });

  test("shares its connections between all coderds until the certificates are rotated", async () => {
    const changing = credentials();
    const route = coderdRoute("service-proxy", changing);
    const [first, second] = [await route(coderd), await route(new URL("http://other.dev.svc:80"))];
    expect(first.dispatcher).toBeDefined();
    expect(second.dispatcher).toBe(first.dispatcher);
    changing.rotate();
    expect((await route(coderd)).dispatcher).not.toBe(first.dispatcher);
  });
});
