import { type Decoded, list, number, object, optional, time, truncatedRecord, word } from "./decode.ts";
import { MAX_TAG_LENGTH } from "./provisioning.ts";

/** Page size of requests to coderd. */
export const WORKSPACES_PER_PAGE = 100;

const latestBuild = object((field) => ({
  transition: field("transition", word),
  deadline: field("deadline", optional(time)),
  job: field(
    "job",
    object((job) => ({ status: job("status", word), tags: job("tags", truncatedRecord(MAX_TAG_LENGTH)) })),
  ),
}));

/**
 * The schedule of a workspace, based on coderd's criteria for transitions. The list does not contain whether
 * the owner is suspended.
 */
const scheduledWorkspace = object((field) => {
  const { transition, deadline, job } = field("latest_build", latestBuild);
  const nextStartAt = field("next_start_at", optional(time));
  const isResting = field("dormant_at", optional(time)) !== undefined || job.status === "failed";
  const scheduled = { stop: nextStartAt, start: deadline }[transition];
  return {
    /** Tags of its last build, which its next build has as well. */
    tags: job.tags,
    /**
     * Time at which coderd starts or stops the workspace automatically, if it does. In the past if overdue.
     */
    dueAt: isResting ? undefined : scheduled,
  };
});
export type ScheduledWorkspace = Decoded<typeof scheduledWorkspace>;

/** A page of workspaces of an organization and the total number. */
export const workspacePage = object((field) => ({
  workspaces: field("workspaces", list(scheduledWorkspace, WORKSPACES_PER_PAGE)),
  count: field("count", number),
}));
export type WorkspacePage = Decoded<typeof workspacePage>;
