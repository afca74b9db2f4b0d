import {
  type Action,
  awaitChange,
  type ConditionState,
  type ObjectKey,
  type ObjectRef,
  type RunContext,
  requeue,
  type Stored,
} from "kube-controller-runtime";
import type { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { findControlPlane, observeControlPlane } from "../control-plane/session/find.ts";
import { openSession, operatorToken, sessionSecrets } from "../control-plane/session/open.ts";
import { isPaused } from "../pause.ts";
import type { CoderPorts } from "../ports.ts";
import { gatherSources, secretRefs } from "../sources.ts";
import { type Decision, decide } from "./decide.ts";
import { type Access, type Looks, look, sightOf } from "./look.ts";
import { markPods, unmarkPods } from "./mark.ts";
import { isMoving, pauseAfterLook } from "./pace.ts";
import type { History } from "./pool.ts";
import { observePools, type PoolSource } from "./pools.ts";
import { reportBuilds } from "./report-builds.ts";
import { forgetScaling, scalePool } from "./scale.ts";
import { buildsServed, queueUnknown } from "./served.ts";
import { type WaitingJobs, whyJobsWait } from "./waiting.ts";

/** How often to look while no pool follows the queue. */
const POLL_MS = 60_000;

/** A single look in vain is nothing to talk about. */
const VAIN_LOOKS = 2;

/** What is remembered of the queue of an organization. */
export interface QueueMemory {
  readonly looks: Looks;
  /** What was wanted of each pool, by its name. */
  readonly histories: ReadonlyMap<string, History>;
}

/** A control plane, and what is remembered of the queue of each of its organizations. */
interface Watched {
  readonly key: ObjectKey;
  readonly object: Stored<CoderControlPlane>;
  readonly memory: Map<string, QueueMemory>;
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
  const access = await connect(object, environment);
  const waiting = await Promise.all(
    [...organizations].map(([id, sources]) => watchQueue({ access, memory, id, sources }, environment)),
  );
  const looks = [...memory.values()].map((each) => each.looks);
  const condition = conditionOf(waiting.flat(), looks, context.clock.now());
  if (condition) await reportBuilds(object, condition, context);
  const nextAt = Math.min(...looks.map((each) => each.nextAt));
  return requeue(Math.max(nextAt - context.clock.now(), 0));
}

async function connect(
  { metadata: { namespace = "", name } }: Stored<CoderControlPlane>,
  { ports, context }: Environment,
): Promise<Access> {
  const observed = observeControlPlane({ namespace, name }, context.caches);
  const found = findControlPlane({ namespace, name }, observed);
  const { value: controlPlane } = found;
  if (!controlPlane) return { client: undefined, message: found.condition?.message ?? "" };
  const sources = await gatherSources(namespace, sessionSecrets(controlPlane), context);
  const { value: token, condition } = operatorToken(controlPlane, sources);
  if (!token) return { client: undefined, message: condition?.message ?? "" };
  const { settings, url } = controlPlane;
  return { client: openSession(settings, { url, token }, { ports, sources }), url, token };
}

/** The Secrets that a session at the control plane needs. */
export function referencedSecrets(
  { metadata: { namespace = "", name } }: Stored<CoderControlPlane>,
  caches: RunContext["caches"],
): ObjectRef[] {
  const observed = observeControlPlane({ namespace, name }, caches);
  return observed ? secretRefs(namespace, sessionSecrets(observed), caches) : [];
}

interface Organization {
  readonly access: Access;
  readonly memory: Map<string, QueueMemory>;
  readonly id: string;
  readonly sources: readonly PoolSource[];
}

/** Looks, decides and scales when it is time to. Returns the jobs of the organization that wait, as far as is known. */
async function watchQueue(
  organization: Organization,
  { context, ports: { daemons: observer } }: Environment,
): Promise<WaitingJobs[]> {
  const { access, memory, id, sources } = organization;
  const { clock } = context;
  const pollMs = pollOf(sources);
  const known = memory.get(id) ?? neverLooked(clock.now(), pollMs);
  memory.set(id, known);
  // A clock that was set back would make the next look wait for as long.
  const isDue = clock.now() >= known.looks.nextAt || clock.now() < known.looks.since;
  const looks = isDue
    ? await look(access, known.looks, { observer, organizationId: id, pollMs, now: () => clock.now() })
    : known.looks;
  const now = clock.now();
  const pools = sources.map(({ pool }) => ({ ...pool, history: known.histories.get(pool.name) ?? [] }));
  const plan = decide(pools, sightOf(looks), now);
  if (isDue) {
    const histories = new Map(plan.decisions.map(({ pool, history }) => [pool.name, history]));
    const following = plan.decisions.filter((_, index) => sources[index]?.provisioner.autoscaling);
    memory.set(id, { looks: scheduled(looks, { pollMs, moving: isMoving(following, now) }), histories });
    await scalePools(plan.decisions, { sources, looks }, context);
  }
  return whyJobsWait(plan, now);
}

/** Marks come first: they decide which pods a smaller number takes away. */
async function scalePools(
  decisions: readonly Decision[],
  { sources, looks: { queue } }: { readonly sources: readonly PoolSource[]; readonly looks: Looks },
  context: RunContext,
): Promise<void> {
  const decided = new Map(decisions.map((decision) => [decision.pool.name, decision]));
  const scaling = sources.map(async (source) => {
    const decision = decided.get(source.pool.name);
    if (isPaused(source.object)) return;
    if (!source.provisioner.autoscaling || !decision) {
      await unmarkPods(source, context);
      return forgetScaling(source, context);
    }
    const isMarked = !queue || (await markPods(source, queue, context));
    await scalePool(source, isMarked ? decision : withoutLess(decision), context);
  });
  await Promise.all(scaling);
}

/** Without the marks of all that are busy, a smaller number could take one of them. */
function withoutLess(decision: Decision): Decision {
  const { pool, replicas } = decision;
  if (replicas >= pool.replicas) return decision;
  const held = "pods of busy daemons could not be marked as such; the operator's log says why";
  return { ...decision, pool: { ...pool, held }, replicas: pool.replicas, cause: "held" };
}

/** The shortest interval that a pool that follows the queue asks for. */
function pollOf(sources: readonly PoolSource[]): number {
  const wished = sources.flatMap(({ provisioner }) => provisioner.autoscaling?.pollSeconds ?? []);
  return Math.min(POLL_MS, ...wished.map((seconds) => seconds * 1_000));
}

/** What has just begun has nothing to wait for; the first look can wait as well. */
function neverLooked(now: number, pollMs: number): QueueMemory {
  const looks = {
    queue: undefined,
    since: now,
    nextAt: now + pollMs,
    tookMs: 0,
    failures: 0,
    failure: undefined,
  };
  return { looks, histories: new Map() };
}

function scheduled(looks: Looks, { pollMs, moving }: { pollMs: number; moving: boolean }): Looks {
  if (!looks.queue) return looks;
  const pauseMs = pauseAfterLook({ pollMs, isMoving: moving, tookMs: looks.tookMs });
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
