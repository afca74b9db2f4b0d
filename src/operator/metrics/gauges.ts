import type { PoolNumbers, QueueTotals } from "../coderd/ports.ts";
import type { Facts } from "./facts.ts";
import type { CoderdDates } from "./key-dates.ts";

/** An object at the time of a scrape. */
export interface Subject {
  readonly facts: Facts;
  /** In seconds since the epoch. Absent until a reconcile of this process succeeds. */
  readonly lastSync: number | undefined;
  /** Expiration of the generated operator token, in seconds since the epoch. */
  readonly tokenExpiry: number | undefined;
  readonly dates: Pick<CoderdDates, "keyCreation">;
  /** Queue state of a provisioner at the last poll. Absent if unknown. */
  readonly pool: PoolNumbers | undefined;
  /** State of all queues of a control plane. */
  readonly queue: QueueTotals | undefined;
}

interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A gauge with samples for each object, with its kind, namespace, name and `labelNames` as labels. */
export interface ObjectGauge {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  readonly read: (subject: Subject) => readonly Sample[];
}

/**
 * Metrics of single objects. States are labels with the value 1, and only the current state has a sample.
 * Times are absolute, so that graphs are flat and `time() - x` is the age.
 */
export const objectGauges: readonly ObjectGauge[] = [
  {
    name: "object_phase",
    help: "Phase of the object: Pending or Ready. 1 for the current phase.",
    labelNames: ["phase"],
    read: ({ facts: { phase } }) => [{ labels: { phase }, value: 1 }],
  },
  {
    name: "object_condition",
    help: "Conditions of the object. 1 for the current status and reason.",
    labelNames: ["condition", "status", "reason"],
    read: ({ facts }) =>
      facts.conditions.map(({ type: condition, status, reason }) => ({
        labels: { condition, status, reason },
        value: 1,
      })),
  },
  {
    name: "object_paused",
    help: "1 if the annotation coder.com/paused suspends reconciliation of the object.",
    read: ({ facts: { paused } }) => (paused ? [{ value: 1 }] : []),
  },
  {
    name: "object_ready_replicas",
    help: "Number of ready pods.",
    read: ({ facts }) => counted(facts.readyReplicas),
  },
  {
    name: "object_desired_replicas",
    help: "Number of desired pods.",
    read: ({ facts }) => counted(facts.desiredReplicas),
  },
  {
    name: "object_last_successful_sync_timestamp_seconds",
    help: "Unix time of the last successful reconcile of the object by this process.",
    read: ({ lastSync }) => known(lastSync),
  },
  {
    name: "license_tier",
    help: "Tier of the license: none, trial, enterprise, premium or unknown. 1 for the current tier.",
    labelNames: ["tier"],
    read: ({ facts: { licenseTier: tier } }) => (tier ? [{ labels: { tier }, value: 1 }] : []),
  },
  {
    name: "license_expiry_timestamp_seconds",
    help: "Unix time at which the license expires, including licenses that the operator did not upload.",
    read: ({ facts: { license } }) => known(dateInSeconds(license?.expires)),
  },
  {
    name: "license_grace_end_timestamp_seconds",
    help: "Unix time at which the grace period of the license ends.",
    read: ({ facts: { license } }) => known(dateInSeconds(license?.graceEnds)),
  },
  {
    name: "license_seats_used",
    help: "Number of active users reported by coderd.",
    read: ({ facts: { license } }) => counted(license?.seatsUsed),
  },
  {
    name: "license_seats_allowed",
    help: "Number of active users that the license allows. Absent if unlimited.",
    read: ({ facts: { license } }) => counted(license?.seatsAllowed),
  },
  {
    name: "license_managed_agents_used",
    help: "Number of workspaces with managed agents built in the license period, reported by coderd.",
    read: ({ facts: { license } }) => counted(license?.managedAgentsUsed),
  },
  {
    name: "license_managed_agents_allowed",
    help: "Number of workspaces with managed agents that the license allows in its period. Absent if unlimited.",
    read: ({ facts: { license } }) => counted(license?.managedAgentsAllowed),
  },
  {
    name: "license_ai_seats_used",
    help: "Number of AI users. Reported by coderd only if the license limits them.",
    read: ({ facts: { license } }) => counted(license?.aiSeatsUsed),
  },
  {
    name: "license_ai_seats_allowed",
    help: "Number of AI users that the license allows. Absent if unlimited.",
    read: ({ facts: { license } }) => counted(license?.aiSeatsAllowed),
  },
  {
    name: "upgrade_stage",
    help: "Stage of the current or most recent upgrade. 1 for the current stage.",
    labelNames: ["stage"],
    read: ({ facts: { upgrade } }) => (upgrade ? [{ labels: { stage: upgrade.stage }, value: 1 }] : []),
  },
  {
    name: "upgrade_stage_since_timestamp_seconds",
    help: "Unix time at which the current stage of the upgrade began.",
    labelNames: ["stage"],
    read: ({ facts: { upgrade } }) =>
      upgrade ? [{ labels: { stage: upgrade.stage }, value: upgrade.since / 1_000 }] : [],
  },
  {
    name: "operator_token_expiry_timestamp_seconds",
    help: "Unix time at which the generated operator token expires. The operator renews it 30 days earlier.",
    read: ({ tokenExpiry }) => known(tokenExpiry),
  },
  {
    name: "given_token_expiry_timestamp_seconds",
    help: "Unix time at which the token provided in a Secret expires. The operator does not renew it.",
    read: ({ facts: { givenTokenExpires } }) => known(dateInSeconds(givenTokenExpires)),
  },
  {
    name: "provisioner_key_created_timestamp_seconds",
    help: "Unix time at which the key of the provisioner was created.",
    read: ({ facts: { key }, dates }) => known(key && dates.keyCreation(key.url, key.id)),
  },
  {
    name: "queue_pending_jobs",
    help: "Number of builds that are waiting for a daemon.",
    read: ({ queue }) => counted(queue?.pending),
  },
  {
    name: "queue_unmatched_jobs",
    help: "Number of waiting builds whose tags no provisioner has.",
    read: ({ queue }) => counted(queue?.unmatched),
  },
  {
    name: "queue_oldest_job_timestamp_seconds",
    help: "Unix time at which the oldest waiting build was created. Absent if no build is waiting.",
    read: ({ queue }) => known(inSeconds(queue?.oldestAt)),
  },
  {
    name: "pool_pending_jobs",
    help: "Number of builds that are waiting for a daemon of the provisioner.",
    read: ({ pool }) => counted(pool?.pending),
  },
  {
    name: "pool_oldest_job_timestamp_seconds",
    help: "Unix time at which the oldest build that is waiting for the provisioner was created. Absent if no build is waiting.",
    read: ({ pool }) => known(inSeconds(pool?.oldestAt)),
  },
  {
    name: "pool_daemons",
    help: "Number of daemons by state: busy, idle, starting or draining. Draining daemons finish a build before they terminate.",
    labelNames: ["state"],
    read: ({ pool }) => (pool ? daemonSamples(pool) : []),
  },
  {
    name: "pool_wanted_daemons",
    help: "Number of daemons that the queue requires: busy daemons, waiting builds and spec.autoscaling.minIdle, before limits are applied.",
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

/** Also exports zero. */
function counted(value: number | undefined): Sample[] {
  return value === undefined ? [] : [{ value }];
}

function known(value: number | undefined): Sample[] {
  return value ? [{ value }] : [];
}
