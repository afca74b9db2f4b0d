import {
  type Decoded,
  type Decoder,
  list,
  number,
  object,
  optional,
  string,
  time,
  truncatedRecord,
  word,
} from "./decode.ts";

/** Tags that a job requires or a daemon has. */
export type Tags = Readonly<Record<string, string>>;

/** Maximum number of jobs to read per organization. */
export const MAX_JOBS = 1_000;

/** Maximum number of daemons, with all their fields, in a response that can be read. */
const MAX_DAEMONS = 2_000;

/** Longer tags are truncated and then match no pool. */
export const MAX_TAG_LENGTH = 256;

const tags: Decoder<Tags> = truncatedRecord(MAX_TAG_LENGTH);

/** A job of a daemon: a workspace build, or the import or dry run of a template version. */
const provisionerJob = object((field) => ({
  id: field("id", word),
  createdAt: field("created_at", time),
  startedAt: field("started_at", optional(time)),
  /** `pending`, `running`, `canceling`, or a value of a later version. */
  status: field("status", word),
  type: field("type", word),
  tags: field("tags", tags),
  /** The daemon that runs the job. */
  workerId: field("worker_id", optional(word)),
  /** Position in the queue of the whole deployment, starting at 1. Daemons acquire jobs in this order. */
  queuePosition: field("queue_position", number),
}));
export type ProvisionerJob = Decoded<typeof provisionerJob>;

/** At most as many as requested, even if coderd returns more. */
export const provisionerJobs: Decoder<readonly ProvisionerJob[]> = (value, path) =>
  list(provisionerJob)(Array.isArray(value) ? value.slice(0, MAX_JOBS) : value, path);

/** A daemon runs one job at a time. A daemon that died is listed as idle for up to 90 seconds. */
const provisionerDaemon = object((field) => ({
  id: field("id", word),
  keyId: field("key_id", word),
  /** The name of its pod, if it runs in a pod. */
  name: field("name", string),
  version: field("version", word),
  lastSeenAt: field("last_seen_at", optional(time)),
  tags: field("tags", tags),
  /** `offline`, `idle`, `busy`, or a value of a later version. */
  status: field("status", optional(word)) ?? "offline",
  currentJobId: field("current_job", optional(object((job) => job("id", word)))),
}));
export type ProvisionerDaemon = Decoded<typeof provisionerDaemon>;

/** Not truncated: a pod whose daemon is missing would be considered idle. */
export const provisionerDaemons = list(provisionerDaemon, MAX_DAEMONS);

/** Daemons of the past week, which old versions include. There may be thousands. */
export const offlineDaemons = {
  containing: '"offline"',
  isDropped: (row: unknown): boolean => (row as { readonly status?: unknown } | null)?.status === "offline",
};
