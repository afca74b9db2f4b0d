import { stored } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import type { ControlPlaneSpec } from "../../api/v1alpha1/control-plane.ts";
import type { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { withDefaults } from "../coderd/settings.ts";
import { controlPlaneGrants, controlPlaneTie } from "./workspace-grants.ts";

const grants = (spec: ControlPlaneSpec, metadata: { name?: string; namespace?: string } = {}) =>
  controlPlaneGrants(withDefaults(stored<CoderControlPlane>({ spec }, metadata)));

const verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
const pods = { apiGroups: [""], resources: ["pods"], verbs };
const claims = { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs };
const deployments = { apiGroups: ["apps"], resources: ["deployments"], verbs };

const labels = {
  "app.kubernetes.io/name": "coder-control-plane",
  "app.kubernetes.io/instance": "coder",
  "app.kubernetes.io/managed-by": "coder-k8s",
  "coder.com/control-plane": "coder",
  "coder.com/control-plane-namespace": "dev",
};
const annotations = { "coder.com/workspace-rbac-owner-uid": "5f8e" };

const grantIn = (namespace: string, foreign: boolean) => ({
  namespace,
  foreign,
  role: {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name: "runner-f2ddfe89-workspace-perms", namespace, labels, annotations },
    rules: [pods, claims, deployments],
  },
  roleBinding: {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "runner-f2ddfe89", namespace, labels, annotations },
    roleRef: {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "Role",
      name: "runner-f2ddfe89-workspace-perms",
    },
    subjects: [{ kind: "ServiceAccount", name: "runner", namespace: "dev" }],
  },
});

test("the own namespace and each further one get the same Role, bound to the one ServiceAccount", () => {
  const spec = {
    serviceAccount: { name: "runner" },
    rbac: { workspaceNamespaces: ["team-a", "dev", "team-b", "team-a"] },
  };
  expect(grants(spec)).toEqual([grantIn("dev", false), grantIn("team-a", true), grantIn("team-b", true)]);
});

test("no object carries an owner reference: who applies it knows where one is possible", () => {
  const [own, foreign] = grants({ rbac: { workspaceNamespaces: ["team-a"] } });
  for (const object of [own?.role, own?.roleBinding, foreign?.role, foreign?.roleBinding]) {
    expect(object?.metadata).not.toHaveProperty("ownerReferences");
  }
});

test("switched off, nothing is granted anywhere", () => {
  expect(grants({ rbac: { workspacePerms: false, workspaceNamespaces: ["team-a"] } })).toEqual([]);
});

const configMaps = { apiGroups: [""], resources: ["configmaps"], resourceNames: ["a"], verbs: ["get"] };

test.each([
  ["Deployments off", { enableDeployments: false }, [pods, claims]],
  ["further rules come last", { extraRules: [configMaps] }, [pods, claims, deployments, configMaps]],
  [
    "further rules without Deployments",
    { enableDeployments: false, extraRules: [configMaps] },
    [pods, claims, configMaps],
  ],
])("rules of the Role: %s", (_case, rbac, expected) => {
  expect(grants({ rbac })[0]?.role.rules).toEqual(expected);
});

test("control planes that share a ServiceAccount name and a workspace namespace do not share objects", () => {
  const nameIn = (namespace: string) => grants({}, { namespace })[0]?.roleBinding.metadata?.name;
  expect(nameIn("dev")).toBe("coder-f2ddfe89");
  expect(nameIn("prod")).toBe("coder-6f31cc11");
});

test("a ServiceAccount's name of any length makes a valid name", () => {
  const [grant] = grants({ serviceAccount: { name: "s".repeat(250) } });
  expect(grant?.role.metadata?.name).toBe(`${"s".repeat(219)}-a5ee483b-f2ddfe89-workspace-perms`);
  expect(grant?.roleBinding.metadata?.name).toBe(`${"s".repeat(235)}-a5ee483b-f2ddfe89`);
  expect(grant?.roleBinding.roleRef.name).toBe(grant?.role.metadata?.name);
  expect(grant?.role.metadata?.name).toHaveLength(253);
});

test("grants are found by labels for names of any length", () => {
  const identity = { name: "a".repeat(64), namespace: "dev", uid: "1" };
  expect(controlPlaneTie.labelsOf(identity)).toEqual({
    "coder.com/control-plane": `${"a".repeat(54)}-d96f0f85`,
    "coder.com/control-plane-namespace": "dev",
  });
});
