import type {
  CoreV1Event,
  V1ConfigMap,
  V1CustomResourceDefinition,
  V1Deployment,
  V1Ingress,
  V1Lease,
  V1Role,
  V1RoleBinding,
  V1Secret,
  V1Service,
  V1ServiceAccount,
} from "@kubernetes/client-node";
import type { Kind, KubeObject, Wire } from "./object.ts";

export type ConfigMap = Wire<V1ConfigMap>;
export type CustomResourceDefinition = Wire<V1CustomResourceDefinition>;
export type Deployment = Wire<V1Deployment>;
export type CoreEvent = Wire<CoreV1Event>;
export type Ingress = Wire<V1Ingress>;
export type Lease = Wire<V1Lease>;
export type Role = Wire<V1Role>;
export type RoleBinding = Wire<V1RoleBinding>;
export type Secret = Wire<V1Secret>;
export type Service = Wire<V1Service>;
export type ServiceAccount = Wire<V1ServiceAccount>;

/** Names a resource type; `plural` is the lower-case plural used in URLs. */
export function kind<T extends KubeObject>(
  apiVersion: string,
  names: { kind: string; plural: string; namespaced?: boolean },
): Kind<T> {
  return { apiVersion, kind: names.kind, plural: names.plural, namespaced: names.namespaced ?? true };
}

export const ConfigMap = kind<ConfigMap>("v1", { kind: "ConfigMap", plural: "configmaps" });
export const CustomResourceDefinition = kind<CustomResourceDefinition>("apiextensions.k8s.io/v1", {
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
});
export const Deployment = kind<Deployment>("apps/v1", { kind: "Deployment", plural: "deployments" });
export const CoreEvent = kind<CoreEvent>("v1", { kind: "Event", plural: "events" });
export const Ingress = kind<Ingress>("networking.k8s.io/v1", { kind: "Ingress", plural: "ingresses" });
export const Lease = kind<Lease>("coordination.k8s.io/v1", { kind: "Lease", plural: "leases" });
export const Role = kind<Role>("rbac.authorization.k8s.io/v1", { kind: "Role", plural: "roles" });
export const RoleBinding = kind<RoleBinding>("rbac.authorization.k8s.io/v1", {
  kind: "RoleBinding",
  plural: "rolebindings",
});
export const Secret = kind<Secret>("v1", { kind: "Secret", plural: "secrets" });
export const Service = kind<Service>("v1", { kind: "Service", plural: "services" });
export const ServiceAccount = kind<ServiceAccount>("v1", {
  kind: "ServiceAccount",
  plural: "serviceaccounts",
});
