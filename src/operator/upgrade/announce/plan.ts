import type { AnnouncementStatus } from "../../../api/v1alpha1/upgrade.ts";

export type NoticeStatus = NonNullable<AnnouncementStatus["banner"]>;

/** `keep`: coderd is, or is about to be, out of service, so what is there stays as it is. */
export type Phase = "announce" | "keep" | "putBack";

/** All that the decision about one notice rests on. */
export interface NoticeFacts {
  readonly phase: Phase;
  readonly record: NoticeStatus | undefined;
  /** The message of the banner, where the notice is one. */
  readonly text?: string | undefined;
  /** Why coderd can't be asked now. */
  readonly obstacle?: string | undefined;
  /** Absent while coderd was not asked in this run. */
  readonly seen?: "there" | "absent" | "notEntitled" | undefined;
}

export type NoticePlan =
  | { readonly do: "rest" }
  /** Ask coderd whether the notice is there, and whether the license includes it. */
  | { readonly do: "look" }
  | { readonly do: "record"; readonly record: NoticeStatus | undefined }
  | { readonly do: "announce" | "putBack" };

const rest: NoticePlan = { do: "rest" };

/*
 *     (none) ─► Announcing ─► Announced ─► (none)
 *        └────► Skipped ─────────────────────┘
 *
 * Announcing is recorded before coderd is asked to do anything, and only while the notice is absent. So a notice that is
 * there later is the operator's own, whichever answer was lost, and what was there before is never put back.
 */

/** The next thing to do about one notice. */
export function planNotice(facts: NoticeFacts): NoticePlan {
  if (facts.phase === "keep") return rest;
  return facts.phase === "announce" ? toAnnounce(facts) : toPutBack(facts);
}

function toAnnounce({ record, text, obstacle, seen }: NoticeFacts): NoticePlan {
  if (record && record.state !== "Announcing") return rest;
  if (obstacle) return record ? rest : skip(obstacle);
  if (!seen) return { do: "look" };
  if (seen === "notEntitled") return record ? rest : skip(NOT_ENTITLED);
  if (record) return seen === "absent" ? { do: "announce" } : enter({ ...record, state: "Announced" });
  return seen === "there"
    ? enter({ state: "Skipped" })
    : enter({ state: "Announcing", ...(text === undefined ? {} : { text }) });
}

function toPutBack({ record, obstacle, seen }: NoticeFacts): NoticePlan {
  if (!record) return rest;
  if (record.state === "Skipped") return enter(undefined);
  if (obstacle) return rest;
  if (!seen) return { do: "look" };
  // Without the feature coderd hides what is stored.
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
