import { stored } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import type { CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import type { ProvisionerSpec } from "../../api/v1alpha1/provisioner.ts";
import { serviceAccount } from "../workload/rbac/ensure-service-account.ts";
import { keySecret } from "./key/secret.ts";
import { withDefaults } from "./spec.ts";
import { provisionerGrants } from "./workspace-grants.ts";

const provisionerWith = (spec: Partial<ProvisionerSpec>) =>
  withDefaults(
    stored<CoderProvisioner>({ spec: { controlPlaneRef: { name: "coder" }, ...spec } }, { name: "pool" }),
  );
const provisioner = provisionerWith({});
const [own] = provisionerGrants(provisioner);
const labels = {
  "app.kubernetes.io/name": "coder-provisioner",
  "app.kubernetes.io/instance": "pool",
  "app.kubernetes.io/managed-by": "coder-k8s",
};
const verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

test("daemons may build workspaces of pods, volume claims and Deployments", () => {
  expect(own?.role).toEqual({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name: "provisioner-pool", namespace: "dev", labels },
    rules: [
      { apiGroups: [""], resources: ["pods"], verbs },
      { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs },
      { apiGroups: ["apps"], resources: ["deployments"], verbs },
    ],
  });
});

test("the Role is bound to the ServiceAccount of the daemons", () => {
  expect(own?.roleBinding).toEqual({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "provisioner-pool", namespace: "dev", labels },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "provisioner-pool" },
    subjects: [{ kind: "ServiceAccount", name: "pool-provisioner", namespace: "dev" }],
  });
  expect(serviceAccount(provisioner)).toEqual({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "pool-provisioner", namespace: "dev", labels },
  });
});

test("a ServiceAccount has the annotations and labels of the spec, or is the user's own", () => {
  const annotations = { "eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/pool" };
  const given = { name: "robot", annotations, labels: { team: "platform" } };
  expect(serviceAccount(provisionerWith({ serviceAccount: given }))).toMatchObject({
    metadata: { name: "robot", annotations, labels: { team: "platform", ...labels } },
  });
  const theirs = provisionerWith({ serviceAccount: { name: "robot", disableCreate: true } });
  expect(serviceAccount(theirs)).toBeUndefined();
  expect(provisionerGrants(theirs)[0]?.roleBinding.subjects).toMatchObject([{ name: "robot" }]);
});

test("in another namespace the grant carries its owner in name, labels and annotation, and no other's", () => {
  const rule = { apiGroups: [""], resources: ["services"], verbs: ["get"] };
  const rbac = { workspaceNamespaces: ["team-a"], enableDeployments: false, extraRules: [rule] };
  const grants = provisionerGrants(provisionerWith({ rbac }));
  expect(grants.map(({ namespace, foreign }) => [namespace, foreign])).toEqual([
    ["dev", false],
    ["team-a", true],
  ]);
  expect(grants[1]?.role).toMatchObject({
    metadata: {
      name: expect.stringMatching(/^provisioner-pool-[0-9a-f]{8}$/),
      namespace: "team-a",
      labels: { ...labels, "coder.com/provisioner": "pool", "coder.com/provisioner-namespace": "dev" },
      annotations: { "coder.com/workspace-rbac-owner-uid": "5f8e" },
    },
    rules: [{ resources: ["pods"] }, { resources: ["persistentvolumeclaims"] }, rule],
  });
  expect(grants[1]?.roleBinding.subjects).toEqual([
    { kind: "ServiceAccount", name: "pool-provisioner", namespace: "dev" },
  ]);
  expect(provisionerGrants(provisionerWith({ rbac: { workspacePerms: false } }))).toEqual([]);
});

test("the key is kept in a Secret, under the key that the spec names", () => {
  expect(keySecret(provisioner, { value: "not-a-secret" })).toEqual({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "pool-provisioner-key", namespace: "dev", labels },
    type: "Opaque",
    data: { key: "bm90LWEtc2VjcmV0" },
  });
});
