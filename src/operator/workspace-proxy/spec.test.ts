import { stored } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import { podOfEmptySpec } from "../../../lab/builders.ts";
import type { CoderWorkspaceProxy } from "../../api/v1alpha1/kinds.ts";
import type { WorkspaceProxySpec } from "../../api/v1alpha1/workspace-proxy.ts";
import { withDefaults } from "./spec.ts";

const a = (count: number) => "a".repeat(count);

const fromSpec = (spec?: WorkspaceProxySpec, name = "sydney") =>
  withDefaults(stored<CoderWorkspaceProxy>(spec ? { spec } : {}, { name }));

const minimal = {
  app: "coder-workspace-proxy",
  identity: { name: "sydney", namespace: "dev", uid: "5f8e" },
  labels: {},
  childName: "wsproxy-sydney",
  image: undefined,
  replicas: 1,
  pod: podOfEmptySpec,
  derpOnly: false,
  primaryAccessURL: undefined,
  credentials: { kind: "none" },
  service: {
    type: "ClusterIP",
    port: 80,
    annotations: {},
    nodePorts: {},
    verbatim: {},
    tls: false,
    target: { name: "http", containerPort: 3001, protocol: "TCP" },
  },
  exposure: { kind: "none" },
};

const blank: WorkspaceProxySpec = {
  image: " ",
  primaryAccessURL: " ",
  controlPlaneRef: { name: " " },
  bootstrap: { coderURL: "https://x", credentialsSecretRef: { name: " " } },
  proxySessionTokenSecretRef: { name: " " },
  service: { port: 0 },
  tls: { secretNames: [" "] },
};

test.each([
  ["without a spec", undefined],
  ["with an empty spec", {}],
  ["with nothing but blanks", blank],
])("a proxy %s gets every default", (_case, spec) => {
  expect(fromSpec(spec)).toStrictEqual(minimal);
});

test("a user and a password in a URL, stored before admission refused them, are left out", () => {
  const { credentials, primaryAccessURL } = fromSpec({
    primaryAccessURL: "https://me:hunter2@coder.example.com/x",
    bootstrap: { coderURL: "http://hunter2@coder.example.com:80", credentialsSecretRef: { name: "admin" } },
  });
  expect(primaryAccessURL).toBe("https://coder.example.com/x");
  expect(credentials).toMatchObject({ coderURL: "http://coder.example.com:80" });
});

describe("credentials", () => {
  const token = { name: "sydney-proxy-token", key: "token" };
  const registration = { proxyName: "sydney", displayName: "", icon: "", token };
  const session = { name: "admin", key: "token" };
  const bootstrap = { coderURL: " https://coder.example.com ", credentialsSecretRef: { name: "admin" } };
  const viaBootstrap = { kind: "bootstrap", coderURL: "https://coder.example.com", session, registration };

  test.each<[string, WorkspaceProxySpec, object]>([
    [
      "a token of the user's",
      { proxySessionTokenSecretRef: { name: " mine ", key: " value " } },
      { kind: "given", token: { name: "mine", key: "value" } },
    ],
    [
      "a token of the user's under the default key",
      { proxySessionTokenSecretRef: { name: "mine" } },
      { kind: "given", token: { name: "mine", key: "token" } },
    ],
    ["bootstrap", { bootstrap }, viaBootstrap],
    [
      "bootstrap before a token, as it has always been",
      { bootstrap, proxySessionTokenSecretRef: { name: "mine" } },
      viaBootstrap,
    ],
    [
      "a control plane",
      { controlPlaneRef: { name: " coder " } },
      { kind: "controlPlane", name: "coder", registration },
    ],
    [
      "a control plane before all else",
      { controlPlaneRef: { name: "coder" }, bootstrap, proxySessionTokenSecretRef: { name: "mine" } },
      { kind: "controlPlane", name: "coder", registration },
    ],
  ])("%s", (_case, spec, expected) => {
    expect(fromSpec(spec).credentials).toEqual(expected);
  });

  const chosen = {
    proxyName: " au ",
    displayName: " Australia ",
    icon: " /emojis/1f1e6-1f1fa.png ",
    generatedTokenSecretName: " au-token ",
  };
  const presented = {
    proxyName: "au",
    displayName: "Australia",
    icon: "/emojis/1f1e6-1f1fa.png",
    token: { name: "au-token", key: "token" },
  };

  test("the proxy presents itself as the user wants, on either way to register", () => {
    const byReference = fromSpec({ controlPlaneRef: { name: "coder" }, registration: chosen });
    const byBootstrap = fromSpec({ bootstrap: { ...bootstrap, ...chosen } });
    expect(byReference.credentials).toMatchObject({ registration: presented });
    expect(byBootstrap.credentials).toMatchObject({ registration: presented });
  });

  test("a proxy that is called like coderd itself gets another name there", () => {
    const { credentials } = fromSpec({ controlPlaneRef: { name: "coder" } }, "primary");
    expect(credentials).toMatchObject({ registration: { proxyName: "primary-5a2e5fd9" } });
  });

  test("the Secret's name is shortened only where Kubernetes needs it", () => {
    const { credentials } = fromSpec({ controlPlaneRef: { name: "coder" } }, a(253));
    const name = `${a(232)}-df1f7590-proxy-token`;
    expect(credentials).toMatchObject({ registration: { token: { name } } });
    expect(name).toHaveLength(253);
  });
});

test.each([
  [55, `wsproxy-${a(55)}`],
  [56, `wsproxy-${a(46)}-1bddf15d`],
])("children of a proxy whose name has %i characters", (length, expected) => {
  expect(fromSpec({}, a(length)).childName).toBe(expected);
});
