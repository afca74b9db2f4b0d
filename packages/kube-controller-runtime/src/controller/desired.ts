import { hash } from "node:crypto";
import type { KubeObject, Stored } from "../object.ts";
import { controllerReference } from "../owner.ts";
import { isAbroad, type Owner, type OwnershipMarks } from "./ownership.ts";

/**
 * A child as it is sent: with its owner as the controller, or in another namespace with the owner's uid as an
 * annotation, and with a hash of all that, by which the next run knows what was applied last.
 */
export function marked<T extends KubeObject>(desired: T, owner: Owner, marks: OwnershipMarks): T {
  const { ownerUid, applied } = marks;
  const { uid } = owner.object.metadata;
  const { annotations, ...metadata } = desired.metadata ?? {};
  const tie = isAbroad(desired, owner)
    ? { annotations: { ...annotations, [ownerUid]: uid } }
    : { annotations, ownerReferences: [controllerReference(owner.object, owner.kind)] };
  const tied = { ...desired, metadata: { ...metadata, ...tie } };
  const digest = hash("sha256", JSON.stringify(tied)).slice(0, 32);
  return on(tied, { annotations: { ...tie.annotations, [applied]: digest } });
}

/** Whether the marks of both say the same: nobody has applied anything else since. */
export function wasAppliedLast(
  present: Stored<KubeObject>,
  desired: KubeObject,
  { applied }: OwnershipMarks,
): boolean {
  return present.metadata.annotations?.[applied] === desired.metadata?.annotations?.[applied];
}

/** The same with more metadata, such as the version on whose condition it is sent. */
export function on<T extends KubeObject>(desired: T, metadata: NonNullable<KubeObject["metadata"]>): T {
  return { ...desired, metadata: { ...desired.metadata, ...metadata } };
}
