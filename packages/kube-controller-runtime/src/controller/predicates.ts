import { isDeepStrictEqual } from "node:util";
import { comparable } from "../cache/own-write.ts";
import type { Change } from "../cache/store.ts";
import type { KubeObject } from "../object.ts";

/** Whether a change causes a run. */
export type Predicate<T extends KubeObject> = (change: Change<T>) => boolean;

/**
 * Accepts every change. For the reconciled objects, this includes changes of the status by others, which are
 * reverted immediately. Own writes never cause a run.
 */
export function anyChange(): boolean {
  return true;
}

const OF_USERS = ["generation", "uid", "deletionTimestamp", "labels", "annotations", "finalizers"] as const;

/**
 * Accepts changes that a user can make: spec (by its generation), labels, annotations, finalizers, deletion.
 * Ignores changes of only the status, which the controller itself makes.
 */
export function specOrMetadataChanged(change: Change<KubeObject>): boolean {
  if (!change.previous || change.type === "deleted") return true;
  const [before, after] = [change.previous.metadata, change.object.metadata];
  return OF_USERS.some((field) => !isDeepStrictEqual(before[field], after[field]));
}

/**
 * Accepts every change except of the status, also for kinds without a generation: for children whose status
 * is not used.
 */
export function contentChanged({ type, object, previous }: Change<KubeObject>): boolean {
  return type === "deleted" || !previous || !isDeepStrictEqual(contentOf(previous), contentOf(object));
}

function contentOf(object: KubeObject & { status?: unknown }): object {
  const { status: _, ...content } = object;
  return comparable(content);
}
