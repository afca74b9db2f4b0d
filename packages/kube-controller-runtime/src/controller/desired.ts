import { hash } from "node:crypto";
import type { KubeObject, Stored } from "../object.ts";
import { controllerReference } from "../owner.ts";
import { isCrossNamespace, type Owner, type OwnershipMarks } from "./ownership.ts";

/**
 * A child as it is sent: with its owner as the controller, or in another namespace with the owner's UID as an
 * annotation, and with a hash of the content, which tells the next run what was applied last.
 */
export function withMarks<T extends KubeObject>(desired: T, owner: Owner, marks: OwnershipMarks): T {
  const { ownerUid, applied } = marks;
  const { uid } = owner.object.metadata;
  const { annotations, ...metadata } = desired.metadata ?? {};
  const tie = isCrossNamespace(desired, owner)
    ? { annotations: { ...annotations, [ownerUid]: uid } }
    : { annotations, ownerReferences: [controllerReference(owner.object, owner.kind)] };
  const tied = { ...desired, metadata: { ...metadata, ...tie } };
  const digest = hash("sha256", JSON.stringify(tied)).slice(0, 32);
  return withMetadata(tied, { annotations: { ...tie.annotations, [applied]: digest } });
}

/** Whether the hashes match: nothing else has been applied since. */
export function wasAppliedLast(
  present: Stored<KubeObject>,
  desired: KubeObject,
  { applied }: OwnershipMarks,
): boolean {
  return present.metadata.annotations?.[applied] === desired.metadata?.annotations?.[applied];
}

/** The object with additional metadata, such as the version that the server must have. */
export function withMetadata<T extends KubeObject>(
  desired: T,
  metadata: NonNullable<KubeObject["metadata"]>,
): T {
  return { ...desired, metadata: { ...desired.metadata, ...metadata } };
}
