import type { AnnouncementStatus } from "../../../api/v1alpha1/upgrade.ts";

export type NoticeStatus = NonNullable<AnnouncementStatus["banner"]>;

/** `keep`: coderd is, or will soon be, unavailable, so the notice is not changed. */
export type Phase = "announce" | "keep" | "putBack";

/** Facts for the decision about one notice. */
export interface NoticeFacts {
  readonly phase: Phase;
  readonly record: NoticeStatus | undefined;
  /** The message of the banner, if the notice is a banner. */
  readonly text?: string | undefined;
  /** Why coderd is not available now. */
  readonly obstacle?: string | undefined;
  /** Absent if coderd was not asked in this reconcile. */
  readonly seen?: "there" | "absent" | "notEntitled" | undefined;
}

export type NoticePlan =
  | { readonly do: "rest" }
  /** Ask coderd whether the notice exists, and whether the license includes it. */
  | { readonly do: "read" }
  | { readonly do: "record"; readonly record: NoticeStatus | undefined }
  | { readonly do: "announce" | "putBack" };

const rest: NoticePlan = { do: "rest" };

/*
 *     (none) ─► Announcing ─► Announced ─► (none)
 *        └────► Skipped ─────────────────────┘
 *
 * Announcing is recorded before the request to coderd, and only if the notice does not exist. Therefore, a notice
 * that exists later was created by the operator, even if the response was lost, and an earlier notice is never
 * removed.
 */

/** The next action for one notice. */
export function planNotice(facts: NoticeFacts): NoticePlan {
  if (facts.phase === "keep") return rest;
  return facts.phase === "announce" ? planAnnouncement(facts) : planRemoval(facts);
}

function planAnnouncement({ record, text, obstacle, seen }: NoticeFacts): NoticePlan {
  if (record && record.state !== "Announcing") return rest;
  if (obstacle) return record ? rest : skip(obstacle);
  if (!seen) return { do: "read" };
  if (seen === "notEntitled") return record ? rest : skip(NOT_ENTITLED);
  if (record) return seen === "absent" ? { do: "announce" } : enter({ ...record, state: "Announced" });
  return seen === "there"
    ? enter({ state: "Skipped" })
    : enter({ state: "Announcing", ...(text === undefined ? {} : { text }) });
}

function planRemoval({ record, obstacle, seen }: NoticeFacts): NoticePlan {
  if (!record) return rest;
  if (record.state === "Skipped") return enter(undefined);
  if (obstacle) return rest;
  if (!seen) return { do: "read" };
  // Without the feature, coderd hides stored settings.
  if (seen === "notEntitled") return rest;
  return seen === "there" ? { do: "putBack" } : enter(undefined);
}

export const NOT_ENTITLED = "The license does not include the feature.";

function enter(record: NoticeStatus | undefined): NoticePlan {
  return { do: "record", record };
}

function skip(message: string): NoticePlan {
  return enter({ state: "Skipped", message });
}
