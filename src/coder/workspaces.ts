import { cutRecord, type Decoded, list, number, object, optional, time, word } from "./decode.ts";
import { MAX_TAG_LENGTH } from "./provisioning.ts";

/** As many as coderd is asked for at once. */
export const WORKSPACES_PER_PAGE = 100;

const latestBuild = object((field) => ({
  transition: field("transition", word),
  deadline: field("deadline", optional(time)),
  job: field(
    "job",
    object((job) => ({ status: job("status", word), tags: job("tags", cutRecord(MAX_TAG_LENGTH)) })),
  ),
}));

/**
 * What is known of a workspace's schedule, as coderd chooses workspaces for a transition; whether their owner is
 * suspended is not in the list.
 */
const scheduledWorkspace = object((field) => {
  const { transition, deadline, job } = field("latest_build", latestBuild);
  const nextStartAt = field("next_start_at", optional(time));
  const isResting = field("dormant_at", optional(time)) !== undefined || job.status === "failed";
  const scheduled = { stop: nextStartAt, start: deadline }[transition];
  return {
    /** What its builds ask of a daemon, as its last one did. */
    tags: job.tags,
    /** When coderd starts or stops it by itself, if it does; long ago when that is overdue. */
    dueAt: isResting ? undefined : scheduled,
  };
});
export type ScheduledWorkspace = Decoded<typeof scheduledWorkspace>;

/** Some workspaces of an organization, and how many there are in all. */
export const workspacePage = object((field) => ({
  workspaces: field("workspaces", list(scheduledWorkspace, WORKSPACES_PER_PAGE)),
  count: field("count", number),
}));
export type WorkspacePage = Decoded<typeof workspacePage>;
