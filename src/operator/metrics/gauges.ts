import type { PoolNumbers, QueueTotals } from "../queue-metrics.ts";
import type { Facts } from "./facts.ts";
import type { CoderdDates } from "./key-dates.ts";

/** An object at the moment of a scrape, and all that is known of it. */
export interface Subject {
  readonly facts: Facts;
  /** In seconds since the epoch; absent while no run of this process has succeeded. */
  readonly lastSync: number | undefined;
  /** When the operator's token ends, in seconds since the epoch, where it made that itself. */
  readonly tokenExpiry: number | undefined;
  readonly dates: Pick<CoderdDates, "keyCreation">;
  /** What the last look at coderd's queue showed of a provisioner; absent while that is unknown. */
  readonly pool: PoolNumbers | undefined;
  /** The same of all queues of a control plane. */
  readonly queue: QueueTotals | undefined;
}

interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A gauge with samples for each object, labeled with its kind, namespace and name and with `labelNames`. */
export interface ObjectGauge {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  readonly read: (subject: Subject) => readonly Sample[];
}

/**
 * All metrics of single objects. States are labels of a 1, and a state that is over has no sample; times are
 * points in time, so that a graph of them is flat and `time() - x` is the age.
 */
export const objectGauges: readonly ObjectGauge[] = [
  {
    name: "object_phase",
    help: "1 for the phase that the object is in: Pending or Ready.",
    labelNames: ["phase"],
    read: ({ facts: { phase } }) => [{ labels: { phase }, value: 1 }],
  },
  {
    name: "object_condition",
    help: "1 for the status that each condition of the object has, with its reason.",
    labelNames: ["condition", "status", "reason"],
    read: ({ facts }) =>
      facts.conditions.map(({ type: condition, status, reason }) => ({
        labels: { condition, status, reason },
        value: 1,
      })),
  },
  {
    name: "object_paused",
    help: "1 while the object is paused by the annotation coder.com/paused.",
    read: ({ facts: { paused } }) => (paused ? [{ value: 1 }] : []),
  },
  {
    name: "object_ready_replicas",
    help: "Pods of the object that are ready.",
    read: ({ facts }) => [{ value: facts.readyReplicas }],
  },
  {
    name: "object_desired_replicas",
    help: "Pods that the object should have.",
    read: ({ facts }) => [{ value: facts.desiredReplicas }],
  },
  {
    name: "object_last_successful_sync_timestamp_seconds",
    help: "When this process last reconciled the object without an error, in Unix time.",
    read: ({ lastSync }) => known(lastSync),
  },
  {
    name: "license_tier",
    help: "1 for the tier of the control plane's license: none, trial, enterprise, premium or unknown.",
    labelNames: ["tier"],
    read: ({ facts: { licenseTier: tier } }) => (tier ? [{ labels: { tier }, value: 1 }] : []),
  },
  {
    name: "license_expiry_timestamp_seconds",
    help: "When the term of the control plane's licenses ends, in Unix time, whoever uploaded them.",
    read: ({ facts: { license } }) => known(dateInSeconds(license?.expires)),
  },
  {
    name: "license_grace_end_timestamp_seconds",
    help: "When the grace after the term of the control plane's licenses ends, in Unix time.",
    read: ({ facts: { license } }) => known(dateInSeconds(license?.graceEnds)),
  },
  {
    name: "license_seats_used",
    help: "Active users, as coderd counts them.",
    read: ({ facts: { license } }) => counted(license?.seatsUsed),
  },
  {
    name: "license_seats_allowed",
    help: "Active users that the license allows; no sample means no limit.",
    read: ({ facts: { license } }) => counted(license?.seatsAllowed),
  },
  {
    name: "license_managed_agents_used",
    help: "Workspaces that were built with managed agents in the period of the license, as coderd counts them.",
    read: ({ facts: { license } }) => counted(license?.managedAgentsUsed),
  },
  {
    name: "license_managed_agents_allowed",
    help: "Workspaces with managed agents that the license allows in its period; no sample means no limit.",
    read: ({ facts: { license } }) => counted(license?.managedAgentsAllowed),
  },
  {
    name: "license_ai_seats_used",
    help: "Users of AI, as coderd counts them where the license limits them.",
    read: ({ facts: { license } }) => counted(license?.aiSeatsUsed),
  },
  {
    name: "license_ai_seats_allowed",
    help: "Users of AI that the license allows; no sample means no limit.",
    read: ({ facts: { license } }) => counted(license?.aiSeatsAllowed),
  },
  {
    name: "upgrade_stage",
    help: "1 for the stage that an upgrade of the control plane is in, or ended in.",
    labelNames: ["stage"],
    read: ({ facts: { upgrade } }) => (upgrade ? [{ labels: { stage: upgrade.stage }, value: 1 }] : []),
  },
  {
    name: "upgrade_stage_since_timestamp_seconds",
    help: "When that stage began, in Unix time.",
    labelNames: ["stage"],
    read: ({ facts: { upgrade } }) =>
      upgrade ? [{ labels: { stage: upgrade.stage }, value: upgrade.since / 1_000 }] : [],
  },
  {
    name: "operator_token_expiry_timestamp_seconds",
    help: "When the token ends that the operator made for itself, in Unix time; it is renewed 30 days before that.",
    read: ({ tokenExpiry }) => known(tokenExpiry),
  },
  {
    name: "given_token_expiry_timestamp_seconds",
    help: "When the token ends that somebody put into a Secret for the object, in Unix time; nobody renews it.",
    read: ({ facts: { givenTokenExpires } }) => known(dateInSeconds(givenTokenExpires)),
  },
  {
    name: "provisioner_key_created_timestamp_seconds",
    help: "When coderd made the key that the provisioner uses, in Unix time.",
    read: ({ facts: { key }, dates }) => known(key && dates.keyCreation(key.url, key.id)),
  },
  {
    name: "queue_pending_jobs",
    help: "Builds that wait in coderd's queues for a daemon.",
    read: ({ queue }) => counted(queue?.pending),
  },
  {
    name: "queue_unmatched_jobs",
    help: "Builds that wait for tags that no provisioner offers.",
    read: ({ queue }) => counted(queue?.unmatched),
  },
  {
    name: "queue_oldest_job_timestamp_seconds",
    help: "When the build was made that has waited the longest, in Unix time; no sample while none waits.",
    read: ({ queue }) => known(inSeconds(queue?.oldestAt)),
  },
  {
    name: "pool_pending_jobs",
    help: "Builds that wait for a daemon of the provisioner.",
    read: ({ pool }) => counted(pool?.pending),
  },
  {
    name: "pool_oldest_job_timestamp_seconds",
    help: "When the build was made that has waited the longest for the provisioner, in Unix time; no sample while none waits.",
    read: ({ pool }) => known(inSeconds(pool?.oldestAt)),
  },
  {
    name: "pool_daemons",
    help: "Daemons of the provisioner by what they do: busy, idle, starting, or draining, which finish a build and leave.",
    labelNames: ["state"],
    read: ({ pool }) => (pool ? daemonSamples(pool) : []),
  },
  {
    name: "pool_wanted_daemons",
    help: "Daemons that the queue asks for: busy ones, builds that wait and spec.autoscaling.minIdle, before minimum and maximum.",
    read: ({ pool }) => counted(pool?.wanted),
  },
];

function daemonSamples({ busy, idle, starting, draining }: PoolNumbers): Sample[] {
  return Object.entries({ busy, idle, starting, draining }).map(([state, value]) => ({
    labels: { state },
    value,
  }));
}

function inSeconds(ms: number | undefined): number | undefined {
  return ms && ms / 1_000;
}

function dateInSeconds(time: string | undefined): number | undefined {
  const ms = Date.parse(time ?? "");
  return Number.isNaN(ms) ? undefined : ms / 1_000;
}

/** Zero is a number too. */
function counted(value: number | undefined): Sample[] {
  return value === undefined ? [] : [{ value }];
}

function known(value: number | undefined): Sample[] {
  return value ? [{ value }] : [];
}
