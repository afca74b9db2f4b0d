import {
  type Action,
  awaitChange,
  type ConditionState,
  type ObjectKey,
  type RunContext,
  requeue,
  type Stored,
} from "kube-controller-runtime";
import type { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { isDatabaseOutage } from "../../coder/failure.ts";
import { WITHOUT_DATABASE, withAdvice } from "../coderd/failure.ts";
import type { CoderPorts } from "../coderd/ports.ts";
import { buildsServed, queueUnknown } from "./late-builds.ts";
import { organizationsOf } from "./observe.ts";
import {
  dueAt,
  type Organization,
  type OrganizationMemory,
  organization,
  watchOrganization,
} from "./organization.ts";
import { sumNumbers } from "./queue-metrics.ts";
import { reportBuilds } from "./report-builds.ts";
import { connect } from "./session.ts";

/** Ignore a single failed poll. */
const MIN_REPORTED_FAILURES = 2;

/** Maximum number of queues in memory at the same time. */
const MAX_CONCURRENT = 4;

/** State of the queues of a control plane, by organization ID. */
export type QueueMemory = Map<string, OrganizationMemory>;

interface Watched {
  readonly key: ObjectKey;
  readonly object: Stored<CoderControlPlane>;
  readonly memory: QueueMemory;
}

interface Environment {
  readonly ports: CoderPorts;
  readonly context: RunContext;
}

/** Polls the queues that are due, and reports the result of all. */
export async function watchQueues(watched: Watched, { ports, context }: Environment): Promise<Action> {
  const { key, object, memory } = watched;
  const now = () => context.clock.now();
  const present = organizationsOf(key, context);
  for (const id of memory.keys()) if (!present.has(id)) memory.delete(id);
  if (present.size === 0) {
    ports.queueObserved?.(key, undefined);
    await reportBuilds(object, "nothing", context);
    return awaitChange;
  }
  const organizations = () =>
    [...present].map(([id, pools]) => organization(id, pools, { known: memory.get(id), context }));
  for (const each of organizations()) memory.set(each.id, each.memory);
  const due = organizations().filter((each) => isDue(each, now()));
  const error = await lookAt(due, watched, { ports, context });
  const known = [...memory.values()];
  ports.queueObserved?.(key, sumNumbers(known.map(({ numbers }) => numbers)));
  const condition = conditionOf(known);
  if (condition) await reportBuilds(object, condition, context);
  if (error !== undefined) throw error;
  return requeue(Math.max(Math.min(...organizations().map(dueAt)) - now(), 0));
}

/** Bounded, in case the clock was set back. */
function isDue(each: Organization, now: number): boolean {
  return now >= dueAt(each) || now < each.memory.poll.since;
}

/** Returns the first error. */
async function lookAt(
  due: readonly Organization[],
  { object, memory }: Watched,
  { ports, context }: Environment,
): Promise<unknown> {
  if (due.length === 0) return undefined;
  const coderd = {
    access: await connect(object, ports, context),
    answers: ports.answers,
    version: object.status?.version,
  };
  const errors: unknown[] = [];
  for (let first = 0; first < due.length; first += MAX_CONCURRENT) {
    const looking = due.slice(first, first + MAX_CONCURRENT).map(async (each) => {
      const found = await watchOrganization(each, coderd, context);
      memory.set(each.id, found.memory);
      errors.push(found.error);
    });
    await Promise.all(looking);
  }
  return errors.find((error) => error !== undefined);
}

/** Undefined while too little is known. */
function conditionOf(known: readonly OrganizationMemory[]): ConditionState | undefined {
  const served = buildsServed(known.map(({ late }) => late));
  if (served.status === "False") return served;
  const polls = known.map((each) => each.poll);
  const blind = polls.find(({ failures }) => failures >= MIN_REPORTED_FAILURES);
  const outage = polls.flatMap(({ failure }) => failure ?? []).find(isDatabaseOutage);
  if (outage) return { status: "Unknown", reason: WITHOUT_DATABASE, message: withAdvice(outage) };
  if (blind) return queueUnknown(blind.failure?.message ?? "", blind.since);
  return polls.every(({ seen }) => seen) ? served : undefined;
}
