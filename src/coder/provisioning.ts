import {
  cutRecord,
  type Decoded,
  type Decoder,
  list,
  number,
  object,
  optional,
  string,
  time,
  word,
} from "./decode.ts";

/** What a job asks of a daemon, or what a daemon offers. */
export type Tags = Readonly<Record<string, string>>;

/** More than this in one organization are not counted one by one. */
export const MAX_JOBS = 1_000;

/** With all its fields, coderd fits no more into an answer that is read. */
const MAX_DAEMONS = 2_000;

/** Longer tags are cut, and then match those of no pool. */
export const MAX_TAG_LENGTH = 256;

const tags: Decoder<Tags> = cutRecord(MAX_TAG_LENGTH);

/** Something that a daemon does for coderd: a workspace build, or the import or trial run of a template version. */
const provisionerJob = object((field) => ({
  id: field("id", word),
  createdAt: field("created_at", time),
  startedAt: field("started_at", optional(time)),
  /** `pending`, `running`, `canceling`, or what a later coderd may add. */
  status: field("status", word),
  type: field("type", word),
  tags: field("tags", tags),
  /** The daemon that has it. */
  workerId: field("worker_id", optional(word)),
  /** Its place in the queue of the whole deployment, from 1: the order in which daemons take jobs. */
  queuePosition: field("queue_position", number),
}));
export type ProvisionerJob = Decoded<typeof provisionerJob>;

/** As many as coderd was asked for, also when it does not keep to that. */
export const provisionerJobs: Decoder<readonly ProvisionerJob[]> = (value, path) =>
  list(provisionerJob)(Array.isArray(value) ? value.slice(0, MAX_JOBS) : value, path);

/** A daemon that takes one job after the other. One that died without a word reads idle for up to 90 seconds. */
const provisionerDaemon = object((field) => ({
  id: field("id", word),
  keyId: field("key_id", word),
  /** The name of its pod, where a pod runs it. */
  name: field("name", string),
  version: field("version", word),
  lastSeenAt: field("last_seen_at", optional(time)),
  tags: field("tags", tags),
  /** `offline`, `idle`, `busy`, or what a later coderd may add. */
  status: field("status", optional(word)) ?? "offline",
  currentJobId: field("current_job", optional(object((job) => job("id", word)))),
}));
export type ProvisionerDaemon = Decoded<typeof provisionerDaemon>;

/** Not cut: a pod whose daemon is missing from the list would pass for one without a job. */
export const provisionerDaemons = list(provisionerDaemon, MAX_DAEMONS);

/** Daemons of the past week, which old versions list with the others. There may be thousands. */
export const offlineDaemons = {
  containing: '"offline"',
  isDropped: (row: unknown): boolean => (row as { readonly status?: unknown } | null)?.status === "offline",
};
