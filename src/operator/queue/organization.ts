import type { RunContext, Stored } from "kube-controller-runtime";
import { autoscalingDefaults } from "../../api/v1alpha1/defaults.ts";
import type { CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import type { DaemonObserver } from "../daemons/observer.ts";
import type { QueueNumbers } from "../queue-numbers.ts";
import { decide, type Plan } from "./decide.ts";
import { outgrownPools, warnOfGrace } from "./grace.ts";
import { type Access, type Looks, look, neverLooked } from "./look.ts";
import type { Refusal } from "./mark.ts";
import { numbersOf } from "./numbers.ts";
import { isMoving, pauseAfterLook } from "./pace.ts";
import type { History, Pool, Queue, QueueSight } from "./pool.ts";
import { observePool, type PoolSource } from "./pools.ts";
import { type Decided, type Scaled, scalePools } from "./scale-pools.ts";
import { type LateBuilds, lateBuilds, noneLate } from "./served.ts";
import { whyJobsWait } from "./waiting.ts";
import { isFresh, isKeptWarm, listWarmth, neverListed, type Warmth } from "./warmth.ts";

/** How often to look while no pool follows the queue. */
const POLL_MS = 60_000;

/** What is kept of an organization's queue: nothing that grows with it. */
export interface OrganizationMemory {
  readonly looks: Looks;
  /** The specs of the pools that the last decision was for. */
  readonly specs: string;
  /** What was wanted of each pool, by its name. */
  readonly histories: ReadonlyMap<string, History>;
  readonly refusals: ReadonlyMap<string, Refusal>;
  /** Pools whose builds were seen to outlast the grace period of their pods, since a spec changed last. */
  readonly outgrown: ReadonlySet<string>;
  readonly warmth: Warmth;
  readonly late: LateBuilds;
  readonly numbers: QueueNumbers | undefined;
}

/** An organization's pools, and what is kept of its queue. */
export interface Organization {
  readonly id: string;
  readonly pools: readonly Stored<CoderProvisioner>[];
  readonly memory: OrganizationMemory;
}

export function organization(
  id: string,
  pools: readonly Stored<CoderProvisioner>[],
  { known, now }: { readonly known: OrganizationMemory | undefined; readonly now: number },
): Organization {
  const unknown = {
    specs: specsOf(pools),
    histories: new Map(),
    refusals: new Map(),
    outgrown: new Set<string>(),
    warmth: neverListed,
  };
  const looks = neverLooked(now, pollOf(pools));
  return { id, pools, memory: known ?? { ...unknown, looks, late: noneLate, numbers: undefined } };
}

/** When to look next: soon after a spec has changed, unless coderd does not answer. */
export function dueAt({ pools, memory: { looks, specs } }: Organization): number {
  const { nextAt, since, tookMs, failures } = looks;
  if (failures > 0 || specs === specsOf(pools)) return nextAt;
  return Math.min(nextAt, since + tookMs + pauseAfterLook({ pollMs: pollOf(pools), isMoving: true, tookMs }));
}

/** How coderd is asked. */
interface Coderd {
  readonly access: Access;
  readonly observer: DaemonObserver;
  /** As far as it is known. */
  readonly version: string | undefined;
}

/** What to keep, and the first thing that went wrong. */
interface Finding {
  readonly memory: OrganizationMemory;
  readonly error?: unknown;
}

/** Looks, decides and scales. A failure to scale is returned, since what was seen is worth keeping. */
export async function watchOrganization(
  organization: Organization,
  coderd: Coderd,
  context: RunContext,
): Promise<Finding> {
  const { id, pools, memory } = organization;
  const now = () => context.clock.now();
  const asked = { observer: coderd.observer, organizationId: id, pollMs: pollOf(pools), now };
  const { looks, sight } = await look(coderd.access, memory.looks, asked);
  const at = now();
  const sources = pools.map((object) => observePool(object, context));
  const plan = decide(
    sources.map((source) => remembered(source, memory, at)),
    sight,
    at,
  );
  const outgrown = warnedOf(organization, sources, { sight, context });
  const circumstances = { sight, refusals: memory.refusals, outgrown };
  const scaled = await scalePools(together(sources, plan), circumstances, context);
  const refused = scaled.flatMap(({ decision: { pool }, refusal }) =>
    refusal ? [[pool.name, refusal] as const] : [],
  );
  return {
    memory: {
      looks: scheduled(looks, { pools, scaled, at }),
      specs: specsOf(pools),
      histories: new Map(plan.decisions.map(({ pool, history }) => [pool.name, history])),
      refusals: new Map(refused),
      outgrown,
      warmth: sight.seen ? await renewWarmth(organization, sources, { coderd, now }) : memory.warmth,
      late: sight.seen ? lateOf(plan, sight.queue, { now: at, coderdVersion: coderd.version }) : noneLate,
      numbers: sight.seen ? numbersOf(plan) : undefined,
    },
    error: scaled.find(({ error }) => error !== undefined)?.error,
  };
}

function remembered({ pool }: PoolSource, { histories, warmth }: OrganizationMemory, at: number): Pool {
  const history = histories.get(pool.name) ?? [];
  return { ...pool, history, isKeptWarm: isKeptWarm(warmth, pool.name, at) };
}

function lateOf(plan: Plan, { isCut }: Queue, moment: Parameters<typeof whyJobsWait>[1]): LateBuilds {
  return lateBuilds(whyJobsWait(plan, moment), isCut, moment.now);
}

/** Warns of builds that outlast the grace period of their pods, once for each spec. */
function warnedOf(
  { pools, memory }: Organization,
  sources: readonly PoolSource[],
  { sight, context }: { readonly sight: QueueSight; readonly context: RunContext },
): ReadonlySet<string> {
  const known = memory.specs === specsOf(pools) ? memory.outgrown : new Set<string>();
  if (!sight.seen) return known;
  const seen = outgrownPools(sources, sight.queue, context.clock.now());
  for (const source of sources)
    if (seen.has(source.pool.name) && !known.has(source.pool.name)) warnOfGrace(source, context);
  return new Set([...known, ...seen]);
}

/** Comes last: a list of workspaces takes a while, and what it brings can wait. A change of a spec begins it anew. */
async function renewWarmth(
  { id, pools, memory: { warmth, specs } }: Organization,
  sources: readonly PoolSource[],
  { coderd: { access }, now }: { readonly coderd: Coderd; readonly now: () => number },
): Promise<Warmth> {
  if (!access.client || (isFresh(warmth, now()) && specs === specsOf(pools))) return warmth;
  const warmed = sources.map(({ pool }) => pool);
  const { nextAt, windows } = warmth;
  const before = specs === specsOf(pools) ? warmth : { nextAt, windows };
  return listWarmth(warmed, before, { client: access.client, organizationId: id, now });
}

function together(sources: readonly PoolSource[], { decisions }: Plan): Decided[] {
  const decided = new Map(decisions.map((decision) => [decision.pool.name, decision]));
  return sources.flatMap((source) => {
    const decision = decided.get(source.pool.name);
    return decision ? [{ source, decision }] : [];
  });
}

/** Equal as long as nobody changes a spec, adds a pool or removes one. */
function specsOf(pools: readonly Stored<CoderProvisioner>[]): string {
  return pools
    .map(({ metadata: { uid, generation } }) => `${uid} ${generation}`)
    .sort()
    .join();
}

/** The shortest interval that a pool that follows the queue asks for. */
function pollOf(pools: readonly Stored<CoderProvisioner>[]): number {
  const wished = pools.flatMap(({ spec }) => {
    if (!spec?.autoscaling) return [];
    return [(spec.autoscaling.pollSeconds ?? autoscalingDefaults.pollSeconds) * 1_000];
  });
  return Math.min(POLL_MS, ...wished);
}

interface Outcome {
  readonly pools: readonly Stored<CoderProvisioner>[];
  readonly scaled: readonly Scaled[];
  readonly at: number;
}

function scheduled(looks: Looks, { pools, scaled, at }: Outcome): Looks {
  if (!looks.seen) return looks;
  const following = new Set(pools.flatMap(({ metadata, spec }) => (spec?.autoscaling ? metadata.name : [])));
  const decisions = scaled.map(({ decision }) => decision).filter(({ pool }) => following.has(pool.name));
  const { since, tookMs } = looks;
  const pauseMs = pauseAfterLook({ pollMs: pollOf(pools), isMoving: isMoving(decisions, at), tookMs });
  return { ...looks, nextAt: since + tookMs + pauseMs };
}
