import type { Secret } from "kube-controller-runtime";
import { createCertificateAuthority, stored } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import type { ControlPlaneSpec } from "../../api/v1alpha1/control-plane.ts";
import type { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import type { Sources } from "../sources.ts";
import { accessHostFor, accessURLOf, aliasesOfProxies, daemonAddress } from "./address.ts";
import { withDefaults } from "./settings.ts";

const PUBLIC = "coder.example.com";
const SERVICE = "coder.dev.svc.cluster.local";
const CLUSTER_IP = "10.96.0.7";

const ca = createCertificateAuthority();
const certificates = {
  public: ca.issue([PUBLIC]).cert,
  wildcard: ca.issue(["*.example.com"]).cert,
  service: ca.issue([SERVICE]).cert,
  both: ca.issue([PUBLIC, SERVICE]).cert,
  other: ca.issue(["elsewhere.example.com"]).cert,
};

const variable = (name: string, value: string) => ({ name, value });
const accessURL = (value = `https://${PUBLIC}`) => variable("CODER_ACCESS_URL", value);
const redirect = variable("CODER_REDIRECT_TO_ACCESS_URL", "true");
const tls = { secretNames: ["coder-tls"] };

function sourcesWith(pem: string | undefined): Sources {
  const secret: Secret | undefined = pem === undefined ? undefined : { data: { "tls.crt": btoa(pem) } };
  return { secret: () => secret, configMap: () => undefined };
}

function addresses(spec: ControlPlaneSpec, pem: string | undefined, clusterDomain = "cluster.local") {
  const settings = withDefaults(stored<CoderControlPlane>({ spec }));
  const sources = sourcesWith(pem);
  const observed = { settings, clusterIP: CLUSTER_IP };
  return {
    accessHost: accessHostFor(settings, sources, clusterDomain),
    daemons: daemonAddress(observed, sources, clusterDomain),
    aliases: aliasesOfProxies(observed, sources, clusterDomain),
  };
}

const mapped = [{ ip: CLUSTER_IP, hostnames: [PUBLIC] }];
const throughService = (url: string) => ({
  accessHost: undefined,
  daemons: { url, hostAliases: [] },
  aliases: [],
});
const byName = {
  accessHost: PUBLIC,
  daemons: { url: `https://${PUBLIC}`, hostAliases: mapped },
  aliases: mapped,
};

describe("coderd with its own TLS is reached by its access URL", () => {
  test.each([
    ["when its certificate is for that name alone", certificates.public, [accessURL()]],
    ["when a wildcard covers only that name", certificates.wildcard, [accessURL()]],
    ["when it redirects there, and its certificate is for both", certificates.both, [accessURL(), redirect]],
  ])("%s", (_case, pem, extraEnv) => {
    expect(addresses({ tls, extraEnv }, pem)).toEqual(byName);
  });

  test("when the exposure gives it that URL", () => {
    const ingress = { host: PUBLIC, tls: { secretName: "at-the-ingress" } };
    const spec = { tls, expose: { ingress, setAccessURL: true } };
    expect(addresses(spec, certificates.public)).toEqual({ ...byName, aliases: [] });
  });

  test("by the authority that coderd compares, in any spelling", () => {
    const extraEnv = [accessURL(`https://Coder.Example.com:443/`), redirect];
    expect(addresses({ tls, extraEnv }, certificates.both)).toEqual({
      accessHost: "Coder.Example.com:443",
      daemons: { url: "https://Coder.Example.com:443", hostAliases: mapped },
      aliases: mapped,
    });
  });

  test("whose port the Service does not have, so that proxies find it by DNS", () => {
    const extraEnv = [accessURL(`https://${PUBLIC}:8443`)];
    expect(addresses({ tls, extraEnv }, certificates.public)).toEqual({
      ...byName,
      accessHost: `${PUBLIC}:8443`,
      aliases: [],
    });
  });
});

describe("coderd is reached by its Service", () => {
  const url = `https://${SERVICE}:443`;
  test.each([
    ["when its certificate is for both names", certificates.both, [accessURL()]],
    ["when its certificate is for that name alone", certificates.service, [accessURL()]],
    ["when its certificate is for neither", certificates.other, [accessURL()]],
    ["when no other URL is set", certificates.public, []],
    ["when its access URL is plain HTTP", certificates.public, [accessURL(`http://${PUBLIC}`)]],
    ["when its access URL is not a URL", certificates.public, [accessURL("nonsense")]],
    ["when its access URL is an address", certificates.public, [accessURL("https://[2001:db8::1]")]],
  ])("%s", (_case, pem, extraEnv) => {
    expect(addresses({ tls, extraEnv }, pem)).toEqual(throughService(url));
  });

  test("when it serves no TLS, regardless of a proxy in front of it", () => {
    expect(addresses({ extraEnv: [accessURL()] }, undefined)).toEqual(throughService(`http://${SERVICE}:80`));
    expect(addresses({ extraEnv: [accessURL(), redirect] }, undefined)).toEqual(
      throughService(`http://${SERVICE}:80`),
    );
  });

  test("in the domain of the cluster", () => {
    expect(addresses({}, undefined, "k8s.corp").daemons?.url).toBe("http://coder.dev.svc.k8s.corp:80");
  });
});

test("a coderd without TLS that redirects to its access URL is reached by that name, on the port of its Service", () => {
  const extraEnv = [accessURL(`http://${PUBLIC}:7080`), redirect];
  expect(addresses({ extraEnv, service: { port: 7080 } }, undefined)).toEqual({
    accessHost: `${PUBLIC}:7080`,
    daemons: { url: `http://${PUBLIC}:7080`, hostAliases: mapped },
    aliases: mapped,
  });
});

test.each<[ControlPlaneSpec]>([
  [{ expose: { ingress: { host: PUBLIC } } }],
  [{ service: { type: "LoadBalancer" } }],
  [{ service: { type: "NodePort" } }],
])("a coderd that is published by %j is found by proxies through DNS", (spec) => {
  const { aliases } = addresses({ tls, extraEnv: [accessURL()], ...spec }, certificates.public);
  expect(aliases).toEqual([]);
});

describe("daemons connect to the unchanged access URL, resolved by DNS", () => {
  test("when coderd redirects to a port that its Service does not have", () => {
    const extraEnv = [accessURL(`https://${PUBLIC}:8443`), redirect];
    const url = `https://${PUBLIC}:8443`;
    expect(addresses({ tls, extraEnv }, certificates.both)).toEqual({
      accessHost: `${PUBLIC}:8443`,
      daemons: { url, hostAliases: [] },
      aliases: [],
    });
  });

  test.each([["my_coder"], ["coder.example.com."], ["-coder.example.com"], [`${"a.".repeat(130)}com`]])(
    "when Kubernetes does not allow mapping its host: %s",
    (host) => {
      const extraEnv = [accessURL(`http://${host}`), redirect];
      expect(addresses({ extraEnv }, undefined)).toEqual({
        accessHost: host,
        daemons: { url: `http://${host}`, hostAliases: [] },
        aliases: [],
      });
    },
  );
});

test.each([
  ["the Secret with the certificate is missing", undefined],
  ["the certificate can't be read", "nonsense"],
])("while %s the address for pods is unknown", (_case, pem) => {
  const { accessHost, daemons, aliases } = addresses({ tls, extraEnv: [accessURL()] }, pem);
  expect({ accessHost, daemons, aliases }).toEqual({
    accessHost: undefined,
    daemons: undefined,
    aliases: undefined,
  });
});

test("an address that the spec gives is for daemons, and never for the operator", () => {
  const internalURL = "https://10.1.2.3:8443";
  const { accessHost, daemons } = addresses({ internalURL, tls, extraEnv: [accessURL()] }, certificates.both);
  expect(daemons).toEqual({ url: internalURL, hostAliases: [] });
  expect(accessHost).toBeUndefined();
});

test.each<[string, ControlPlaneSpec, string]>([
  ["the user's", { extraEnv: [accessURL()] }, `https://${PUBLIC}`],
  ["else that of the exposure", { expose: { ingress: { host: "a.b" }, setAccessURL: true } }, "http://a.b"],
  ["else that of the Service", { expose: { ingress: { host: "a.b" } } }, `http://${SERVICE}`],
])("the access URL is %s", (_case, spec, expected) => {
  const settings = withDefaults(stored<CoderControlPlane>({ spec }));
  expect(accessURLOf(settings, sourcesWith(undefined), "cluster.local")).toBe(expected);
});
