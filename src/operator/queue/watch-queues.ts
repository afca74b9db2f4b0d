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
import type { CoderClient } from "../../coder/client.ts";
import { findControlPlane, openSession, operatorToken } from "../control-plane/session.ts";
import type { CoderPorts } from "../ports.ts";
import { decide } from "./decide.ts";
import { type Looks, look, sightOf } from "./look.ts";
import { isMoving, pauseAfterLook } from "./pace.ts";
import type { Pool } from "./pool.ts";
import { observePools } from "./pools.ts";
import { reportBuilds } from "./report-builds.ts";
import { buildsServed, queueUnknown } from "./served.ts";
import { type WaitingJobs, whyJobsWait } from "./waiting.ts";

/** How often to look while no pool follows the queue. */
const POLL_MS = 60_000;

/** A single look in vain is nothing to talk about. */
const VAIN_LOOKS = 2;

/** A control plane, and what is remembered of the queue of each of its organizations. */
interface Watched {
  readonly key: ObjectKey;
  readonly object: Stored<CoderControlPlane>;
  readonly memory: Map<string, Looks>;
}

interface Environment {
  readonly ports: CoderPorts;
  readonly context: RunContext;
}

/** Looks at the queues that are due, and reports what all of them say. */
export async function watchQueues(watched: Watched, environment: Environment): Promise<Action> {
  const { key, object, memory } = watched;
  const { context } = environment;
  const organizations = observePools(key, context);
  for (const id of memory.keys()) if (!organizations.has(id)) memory.delete(id);
  if (organizations.size === 0) {
    await reportBuilds(object, "nothing", context);
    return awaitChange;
  }
  const client = await connect(object, environment);
  if (!client) return awaitChange;
  const waiting = await Promise.all(
    [...organizations].map(([id, pools]) => watchQueue({ client, memory, id, pools }, context)),
  );
  const condition = conditionOf(waiting.flat(), [...memory.values()], context.clock.now());
  if (condition) await reportBuilds(object, condition, context);
  const nextAt = Math.min(...[...memory.values()].map((looks) => looks.nextAt));
  return requeue(Math.max(nextAt - context.clock.now(), 0));
}

async function connect(
  { metadata: { namespace = "", name } }: Stored<CoderControlPlane>,
  { ports, context }: Environment,
): Promise<CoderClient | undefined> {
  const { value: controlPlane } = findControlPlane({ namespace, name }, context);
  if (!controlPlane) return undefined;
  const { value: token } = await operatorToken(controlPlane, context);
  if (!token) return undefined;
  return openSession(controlPlane.settings, { url: controlPlane.url, token }, { ports, context });
}

interface Organization {
  readonly client: CoderClient;
  readonly memory: Map<string, Looks>;
  readonly id: string;
  readonly pools: readonly Pool[];
}

/** The jobs of one organization that wait, as far as is known. */
async function watchQueue(
  { client, memory, id, pools }: Organization,
  { clock }: RunContext,
): Promise<WaitingJobs[]> {
  const known = memory.get(id) ?? neverLooked(clock.now());
  memory.set(id, known);
  // A clock that was set back would make the next look wait for as long.
  const isDue = clock.now() >= known.nextAt || clock.now() < known.since;
  const looks = isDue
    ? await look(client, known, { organizationId: id, pollMs: POLL_MS, now: () => clock.now() })
    : known;
  const now = clock.now();
  const plan = decide(pools, sightOf(looks), now);
  memory.set(id, isDue ? scheduled(looks, isMoving(plan.decisions, now)) : looks);
  return whyJobsWait(plan, now);
}

/** What has just begun has nothing to wait for; the first look can wait as well. */
function neverLooked(now: number): Looks {
  return { queue: undefined, since: now, nextAt: now + POLL_MS, tookMs: 0, failures: 0, failure: undefined };
}

function scheduled(looks: Looks, moving: boolean): Looks {
  if (!looks.queue) return looks;
  const pauseMs = pauseAfterLook({ pollMs: POLL_MS, isMoving: moving, tookMs: looks.tookMs });
  return { ...looks, nextAt: looks.since + looks.tookMs + pauseMs };
}

/** Nothing to say while too little is known. */
function conditionOf(
  waiting: readonly WaitingJobs[],
  looks: readonly Looks[],
  now: number,
): ConditionState | undefined {
  const oldestFirst = waiting.toSorted((a, b) => a.since - b.since);
  const served = buildsServed(oldestFirst, now);
  if (served.status === "False") return served;
  const blind = looks.find(({ failures }) => failures >= VAIN_LOOKS);
  if (blind) return queueUnknown(blind.failure?.message ?? "", blind.since);
  return looks.every(({ queue }) => queue !== undefined) ? served : undefined;
}
