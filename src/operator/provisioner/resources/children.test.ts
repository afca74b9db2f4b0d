import { stored } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import type { CoderProvisioner } from "../../../api/v1alpha1/kinds.ts";
import { withDefaults } from "../spec.ts";
import { keySecret } from "./key-secret.ts";
import { provisionerRole, provisionerRoleBinding } from "./rbac.ts";
import { provisionerServiceAccount } from "./service-account.ts";

const provisioner = withDefaults(
  stored<CoderProvisioner>({ spec: { controlPlaneRef: { name: "coder" } } }, { name: "pool" }),
);
const labels = {
  "app.kubernetes.io/name": "coder-provisioner",
  "app.kubernetes.io/instance": "pool",
  "app.kubernetes.io/managed-by": "coder-k8s",
};
const verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

test("daemons may build workspaces of pods, volume claims and Deployments", () => {
  expect(provisionerRole(provisioner)).toEqual({
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
  expect(provisionerRoleBinding(provisioner)).toEqual({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "provisioner-pool", namespace: "dev", labels },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "provisioner-pool" },
    subjects: [{ kind: "ServiceAccount", name: "pool-provisioner", namespace: "dev" }],
  });
  expect(provisionerServiceAccount(provisioner)).toEqual({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "pool-provisioner", namespace: "dev", labels },
  });
});

test("the key is kept in a Secret, under the key that the spec names", () => {
  expect(keySecret(provisioner, "not-a-secret")).toEqual({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "pool-provisioner-key", namespace: "dev", labels },
    type: "Opaque",
    data: { key: "bm90LWEtc2VjcmV0" },
  });
});
