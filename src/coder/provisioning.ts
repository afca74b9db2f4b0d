import { type Decoder, number, object, optional, record, string, time, word } from "./decode.ts";

/** What a job asks of a daemon, or what a daemon offers. */
export type Tags = Readonly<Record<string, string>>;

/** Something that a daemon does for coderd: a workspace build, or the import or trial run of a template version. */
export interface ProvisionerJob {
  readonly id: string;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  /** `pending`, `running`, `canceling`, or what a later coderd may add. */
  readonly status: string;
  readonly type: string;
  readonly tags: Tags;
  /** The daemon that has it. */
  readonly workerId: string | undefined;
  /** Its place in the queue of the whole deployment, from 1: the order in which daemons take jobs. */
  readonly queuePosition: number;
  readonly templateName: string;
  readonly workspaceName: string;
}

const metadata = object((field) => ({
  templateName: field("template_name", optional(string)) ?? "",
  workspaceName: field("workspace_name", optional(string)) ?? "",
}));

export const provisionerJob: Decoder<ProvisionerJob> = object((field) => ({
  id: field("id", word),
  createdAt: field("created_at", time),
  startedAt: field("started_at", optional(time)),
  status: field("status", word),
  type: field("type", word),
  tags: field("tags", record(string)),
  workerId: field("worker_id", optional(word)),
  queuePosition: field("queue_position", number),
  ...(field("metadata", optional(metadata)) ?? { templateName: "", workspaceName: "" }),
}));

/** A daemon that takes one job after the other. One that died without a word reads idle for up to 90 seconds. */
export interface ProvisionerDaemon {
  readonly id: string;
  readonly keyId: string;
  /** The name of its pod, where a pod runs it. */
  readonly name: string;
  readonly version: string;
  readonly lastSeenAt: number | undefined;
  readonly tags: Tags;
  /** `offline`, `idle`, `busy`, or what a later coderd may add. */
  readonly status: string;
  readonly currentJobId: string | undefined;
}

export const provisionerDaemon: Decoder<ProvisionerDaemon> = object((field) => ({
  id: field("id", word),
  keyId: field("key_id", word),
  name: field("name", string),
  version: field("version", word),
  lastSeenAt: field("last_seen_at", optional(time)),
  tags: field("tags", record(string)),
  status: field("status", optional(word)) ?? "offline",
  currentJobId: field("current_job", optional(object((job) => job("id", word)))),
}));
