import { stored } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import { podOfEmptySpec } from "../../../lab/builders.ts";
import type { ControlPlaneSpec } from "../../api/v1alpha1/control-plane.ts";
import type { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { withDefaults } from "./settings.ts";

const a = (count: number) => "a".repeat(count);

const fromSpec = (spec?: ControlPlaneSpec, name = "coder") =>
  withDefaults(stored<CoderControlPlane>(spec ? { spec } : {}, { name }));

const minimal = {
  app: "coder-control-plane",
  identity: { name: "coder", namespace: "dev", uid: "5f8e" },
  labels: {},
  childName: "coder",
  image: "ghcr.io/coder/coder:latest",
  replicas: 1,
  pod: podOfEmptySpec,
  useClusterAccessURL: true,
  service: {
    type: "ClusterIP",
    port: 80,
    annotations: {},
    nodePorts: {},
    verbatim: {},
    tls: false,
    target: { name: "http", containerPort: 8080, protocol: "TCP" },
  },
  exposure: { kind: "none" },
  setAccessURL: false,
  internalURL: undefined,
  serviceAccount: { name: "coder", managed: true, labels: {}, annotations: {} },
  workspaceAccess: { namespaces: ["dev"], deployments: true, extraRules: [] },
  license: undefined,
  firstAdmin: undefined,
  operatorAccess: { kind: "generated", token: { name: "coder-operator-token", key: "token" } },
  upgrade: {
    strategy: "Safe",
    drainTimeoutMs: 600_000,
    announce: { banner: undefined, pausesPrebuilds: false },
    backup: undefined,
  },
};

/** Defaults that the API server sets for an empty spec. */
const crdDefaults: ControlPlaneSpec = {
  certs: {},
  envUseClusterAccessURL: true,
  image: "ghcr.io/coder/coder:latest",
  livenessProbe: { enabled: false, initialDelaySeconds: 0 },
  operatorAccess: { disabled: false },
  rbac: { enableDeployments: true, workspacePerms: true },
  readinessProbe: { enabled: true, initialDelaySeconds: 0 },
  replicas: 1,
  service: { port: 80, type: "ClusterIP" },
  serviceAccount: { disableCreate: false },
  tls: {},
  upgrade: { strategy: "Safe", drainTimeoutSeconds: 600 },
};

const blank: ControlPlaneSpec = {
  certs: { secrets: [] },
  expose: {},
  image: " ",
  licenseSecretRef: { name: "" },
  livenessProbe: {},
  operatorAccess: { generatedTokenSecretName: " ", tokenSecretRef: { name: " " } },
  rbac: { workspaceNamespaces: ["", " dev "], extraRules: [] },
  readinessProbe: {},
  service: { port: 0 },
  serviceAccount: { name: " " },
  tls: { secretNames: ["", " "] },
};

test.each([
  ["without a spec", undefined],
  ["with an empty spec", {}],
  ["with the CRD's defaults", crdDefaults],
  ["with nothing but blanks and zeros", blank],
])("a control plane %s gets every default", (_case, spec) => {
  expect(fromSpec(spec)).toStrictEqual(minimal);
});

test("names are trimmed", () => {
  const controlPlane = fromSpec({
    image: " registry.example.com/coder:v2 ",
    tls: { secretNames: [" b ", "a", "b"] },
    serviceAccount: { name: " runner " },
    rbac: { workspaceNamespaces: [" team-a ", "dev", "team-a", "team-b"] },
    licenseSecretRef: { name: " license ", key: " jwt " },
  });
  expect(controlPlane.image).toBe("registry.example.com/coder:v2");
  expect(controlPlane.pod.tlsSecretNames).toEqual(["b", "a"]);
  expect(controlPlane.service.tls).toBe(true);
  expect(controlPlane.serviceAccount.name).toBe("runner");
  expect(controlPlane.workspaceAccess?.namespaces).toEqual(["dev", "team-a", "team-b"]);
  expect(controlPlane.license).toEqual({ name: "license", key: "jwt" });
});

test("zero replicas are zero, not the default", () => {
  expect(fromSpec({ replicas: 0 }).replicas).toBe(0);
});

test("a license has its default key", () => {
  expect(fromSpec({ licenseSecretRef: { name: "l" } }).license).toEqual({ name: "l", key: "license" });
});

describe("names of children", () => {
  test("a name that every child can bear is kept", () => {
    const { childName, serviceAccount } = fromSpec({}, a(63));
    expect([childName, serviceAccount.name]).toEqual([a(63), a(63)]);
  });

  test.each([
    [64, `${a(54)}-d96f0f85`],
    [253, `${a(54)}-df1f7590`],
  ])("a name of %i characters is shortened to what a Service takes", (length, expected) => {
    const { childName, serviceAccount } = fromSpec({}, a(length));
    expect([childName, serviceAccount.name]).toEqual([expected, expected]);
    expect(expected).toHaveLength(63);
  });
});

describe("operator access", () => {
  test.each([
    ["disabled", { disabled: true }, { kind: "disabled" }],
    [
      "disabled, whatever else is given",
      { disabled: true, tokenSecretRef: { name: "mine" } },
      { kind: "disabled" },
    ],
    [
      "a token of the user's",
      { tokenSecretRef: { name: " mine " } },
      { kind: "given", token: { name: "mine", key: "token" } },
    ],
    [
      "a token of the user's under another key",
      { tokenSecretRef: { name: "mine", key: "session" } },
      { kind: "given", token: { name: "mine", key: "session" } },
    ],
    [
      "a Secret of that name for ours",
      { generatedTokenSecretName: " ours " },
      { kind: "generated", token: { name: "ours", key: "token" } },
    ],
  ])("%s", (_case, operatorAccess, expected) => {
    expect(fromSpec({ operatorAccess }).operatorAccess).toEqual(expected);
  });

  test.each([
    [48, `${a(48)}-operator-token`],
    [49, `${a(39)}-4e8d2a7c-operator-token`],
  ])("the Secret of a control plane whose name has %i characters", (length, name) => {
    expect(fromSpec({}, a(length)).operatorAccess).toEqual({
      kind: "generated",
      token: { name, key: "token" },
    });
  });
});

describe("the first admin", () => {
  const email = " admin@example.com ";
  const minimal = { email: "admin@example.com", username: "admin", name: "", isGenerated: true };

  test("has a name and a password of the operator's unless the spec gives them", () => {
    const password = { name: "coder-first-admin", key: "password" };
    expect(fromSpec({ firstAdmin: { email } }).firstAdmin).toEqual({ ...minimal, password });
    const given = { email, username: "root", name: "Root", passwordSecretRef: { name: " mine ", key: "pw" } };
    expect(fromSpec({ firstAdmin: given }).firstAdmin).toEqual({
      ...minimal,
      ...{ username: "root", name: "Root", isGenerated: false },
      password: { name: "mine", key: "pw" },
    });
  });

  test("of a control plane with a long name has a Secret with a name that is cut", () => {
    expect(fromSpec({ firstAdmin: { email } }, a(64)).firstAdmin?.password.name).toHaveLength(63);
  });
});

test.each([
  [{ workspacePerms: false, workspaceNamespaces: ["team-a"] }, undefined],
  [{ enableDeployments: false }, { namespaces: ["dev"], deployments: false, extraRules: [] }],
])("workspace permissions %j", (rbac, expected) => {
  expect(fromSpec({ rbac }).workspaceAccess).toEqual(expected);
});
