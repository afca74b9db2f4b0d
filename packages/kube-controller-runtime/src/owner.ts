import type { V1OwnerReference } from "@kubernetes/client-node";
import type { Kind, KubeObject, Stored, Wire } from "./object.ts";

export type OwnerReference = Wire<V1OwnerReference>;

/** The reference that makes `owner` the controller of a child: the child is garbage-collected with it. */
export function controllerReference(owner: Stored<KubeObject>, kind: Kind): OwnerReference {
  return {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** The controller of an object, if it has one. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata?.ownerReferences?.find((reference) => reference.controller);
}
