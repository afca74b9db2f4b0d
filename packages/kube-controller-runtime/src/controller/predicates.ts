import { isDeepStrictEqual } from "node:util";
import { comparable } from "../cache/own-write.ts";
import type { Change } from "../cache/store.ts";
import type { KubeObject } from "../object.ts";

/** Whether a change is worth a run. */
export type Predicate<T extends KubeObject> = (change: Change<T>) => boolean;

/**
 * Lets every change through. Of an object of ours that is every one by somebody else, the status among them: what they
 * write there is set right at once. Own writes cause no run anyway.
 */
export function anyChange(): boolean {
  return true;
}

const OF_USERS = ["generation", "uid", "deletionTimestamp", "labels", "annotations", "finalizers"] as const;

/**
 * Lets through what a user may have changed: spec (by its generation), labels, annotations, finalizers,
 * deletion. Status-only changes, which are the controller's own results, are held back.
 */
export function specOrMetadataChanged(change: Change<KubeObject>): boolean {
  if (!change.previous || change.type === "deleted") return true;
  const [before, after] = [change.previous.metadata, change.object.metadata];
  return OF_USERS.some((field) => !isDeepStrictEqual(before[field], after[field]));
}

/**
 * Lets through every change but that of the status alone, also of kinds without a generation: for children
 * whose status nobody reads.
 */
export function contentChanged({ type, object, previous }: Change<KubeObject>): boolean {
  return type === "deleted" || !previous || !isDeepStrictEqual(contentOf(previous), contentOf(object));
}

function contentOf(object: KubeObject & { status?: unknown }): object {
  const { status: _, ...content } = object;
  return comparable(content);
}
