import type * as k8s from "@kubernetes/client-node";
import type { Kind, KindSelection, KubeObject, Wire } from "./object.ts";

export type ConfigMap = Wire<k8s.V1ConfigMap>;
export type ControllerRevision = Wire<k8s.V1ControllerRevision>;
export type CronJob = Wire<k8s.V1CronJob>;
export type CustomResourceDefinition = Wire<k8s.V1CustomResourceDefinition>;
export type Deployment = Wire<k8s.V1Deployment>;
export type CoreEvent = Wire<k8s.CoreV1Event>;
export type Ingress = Wire<k8s.V1Ingress>;
export type IngressClass = Wire<k8s.V1IngressClass>;
export type Job = Wire<k8s.V1Job>;
export type Lease = Wire<k8s.V1Lease>;
export type Namespace = Wire<k8s.V1Namespace>;
export type Pod = Wire<k8s.V1Pod>;
export type PodDisruptionBudget = Wire<k8s.V1PodDisruptionBudget>;
export type ReplicaSet = Wire<k8s.V1ReplicaSet>;
export type Role = Wire<k8s.V1Role>;
export type RoleBinding = Wire<k8s.V1RoleBinding>;
export type Secret = Wire<k8s.V1Secret>;
export type Service = Wire<k8s.V1Service>;
export type ServiceAccount = Wire<k8s.V1ServiceAccount>;
export type Scale = Wire<k8s.V1Scale>;
export type Eviction = Wire<k8s.V1Eviction>;
export type TokenReview = Wire<k8s.V1TokenReview>;
export type SubjectAccessReview = Wire<k8s.V1SubjectAccessReview>;

/** Defines a resource type; `plural` is the lower-case plural used in URLs. */
export function kind<T extends KubeObject>(
  apiVersion: string,
  names: { kind: string; plural: string; namespaced?: boolean },
): Kind<T> {
  return { apiVersion, kind: names.kind, plural: names.plural, namespaced: names.namespaced ?? true };
}

/**
 * A subresource as a kind, for the methods of a client: `get` and the patches read and write it, `create`
 * posts to it. It has the name of its object, and can't be listed, watched or cached.
 */
export function subresource<T extends KubeObject>(
  of: Kind,
  names: { name: string; apiVersion: string; kind: string },
): Kind<T> {
  const { name, apiVersion, kind } = names;
  return { apiVersion, kind, plural: name, namespaced: of.namespaced, of };
}

/** The scale of a kind: `client.mergePatch(scaleOf(Deployment), ref, { spec: { replicas: 3 } })`. */
export function scaleOf(kind: Kind): Kind<Scale> {
  return subresource(kind, { name: "scale", apiVersion: "autoscaling/v1", kind: "Scale" });
}

/**
 * A selection of a kind's objects with its own cache, so that the same kind can be watched by different
 * selectors. Use it wherever the kind is used: in `owns`, `watches` and `caches.of`.
 */
export function select<T extends KubeObject>(kind: Kind<T>, selection: KindSelection): Kind<T> {
  return { ...kind, selection };
}

export const ConfigMap = kind<ConfigMap>("v1", { kind: "ConfigMap", plural: "configmaps" });
/** An immutable snapshot, such as of a pod template, for rollbacks. */
export const ControllerRevision = kind<ControllerRevision>("apps/v1", {
  kind: "ControllerRevision",
  plural: "controllerrevisions",
});
export const CronJob = kind<CronJob>("batch/v1", { kind: "CronJob", plural: "cronjobs" });
export const CustomResourceDefinition = kind<CustomResourceDefinition>("apiextensions.k8s.io/v1", {
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
});
export const Deployment = kind<Deployment>("apps/v1", { kind: "Deployment", plural: "deployments" });
export const CoreEvent = kind<CoreEvent>("v1", { kind: "Event", plural: "events" });
export const Ingress = kind<Ingress>("networking.k8s.io/v1", { kind: "Ingress", plural: "ingresses" });
export const IngressClass = kind<IngressClass>("networking.k8s.io/v1", {
  kind: "IngressClass",
  plural: "ingressclasses",
  namespaced: false,
});
export const Job = kind<Job>("batch/v1", { kind: "Job", plural: "jobs" });
export const Lease = kind<Lease>("coordination.k8s.io/v1", { kind: "Lease", plural: "leases" });
export const Namespace = kind<Namespace>("v1", {
  kind: "Namespace",
  plural: "namespaces",
  namespaced: false,
});
export const Pod = kind<Pod>("v1", { kind: "Pod", plural: "pods" });
/**
 * Evicts a pod like `kubectl drain`: `client.create(PodEviction, { metadata: { namespace, name } })`. Rejects
 * with `TooManyRequests` while a disruption budget forbids it, without delaying other requests.
 */
export const PodEviction = subresource<Eviction>(Pod, {
  name: "eviction",
  apiVersion: "policy/v1",
  kind: "Eviction",
});
export const PodDisruptionBudget = kind<PodDisruptionBudget>("policy/v1", {
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
});
export const ReplicaSet = kind<ReplicaSet>("apps/v1", { kind: "ReplicaSet", plural: "replicasets" });
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
export const SubjectAccessReview = kind<SubjectAccessReview>("authorization.k8s.io/v1", {
  kind: "SubjectAccessReview",
  plural: "subjectaccessreviews",
  namespaced: false,
});
export const TokenReview = kind<TokenReview>("authentication.k8s.io/v1", {
  kind: "TokenReview",
  plural: "tokenreviews",
  namespaced: false,
});
