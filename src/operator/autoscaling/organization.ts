import type { RunContext, Stored } from "kube-controller-runtime";
import { autoscalingDefaults } from "../../api/v1alpha1/defaults.ts";
import type { CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import type { QueueNumbers } from "../coderd/ports.ts";
import type { SharedAnswers } from "../coderd/shared-answers.ts";
import { type Decision, decide, type Plan } from "./decide.ts";
import { outgrownPools, warnOfGrace } from "./grace-period.ts";
import { isFresh, isKeptWarm, listWarmWindows, neverListed, type WarmWindows } from "./keep-warm.ts";
import { type LateBuilds, lateBuilds, noLateBuilds } from "./late-builds.ts";
import type { Refusal } from "./marks.ts";
import { observePool, type PoolSource, podStates } from "./observe.ts";
import { type Access, neverPolled, type PollState, poll } from "./poll.ts";
import { isMoving, pauseAfterPoll } from "./poll-interval.ts";
import type { History, Pool, QueueObservation } from "./pool.ts";
import { numbersOf } from "./queue-metrics.ts";
import { type Decided, type Scaled, scalePools } from "./scale.ts";
import { noStrandedJobs, type StrandedObservation, strandedJobs } from "./stranded.ts";
import { waitCauses } from "./waiting.ts";

/** Polling interval without autoscaling. */
const POLL_MS = 60_000;

/** Polling interval while builds wait or are lost, or while daemons are missing. */
const UNSERVED_POLL_MS = 15_000;

/** State of an organization's queue. Its size does not depend on the queue. */
export interface OrganizationMemory {
  readonly poll: PollState;
  /** Specs of the pools at the last decision. */
  readonly specs: string;
  /** Needed daemons of each pool, by name. */
  readonly histories: ReadonlyMap<string, History>;
  readonly refusals: ReadonlyMap<string, Refusal>;
  /** Pools whose builds exceeded the grace period of their pods since their spec changed. */
  readonly outgrown: ReadonlySet<string>;
  readonly warmth: WarmWindows;
  readonly late: LateBuilds;
  readonly stranded: StrandedObservation;
  /** Relevant state of the pods at the last poll. */
  readonly pods: string;
  readonly numbers: QueueNumbers | undefined;
}

/** The pools of an organization, and the state of its queue. */
export interface Organization {
  readonly id: string;
  readonly pools: readonly Stored<CoderProvisioner>[];
  /** Changes if a spec changes or a pool is added or removed. */
  readonly specs: string;
  /** Changes if the set of pods or their state changes. */
  readonly podStates: string;
  /** The shortest polling interval of the pools with autoscaling. */
  readonly pollMs: number;
  readonly memory: OrganizationMemory;
}

export function organization(
  id: string,
  pools: readonly Stored<CoderProvisioner>[],
  { known, context }: { readonly known: OrganizationMemory | undefined; readonly context: RunContext },
): Organization {
  const states = podStates(pools, context);
  const specs = pools
    .map(({ metadata: { uid, generation } }) => `${uid} ${generation}`)
    .sort()
    .join();
  const pollMs = pollOf(pools);
  const unknown = {
    specs,
    pods: states,
    poll: neverPolled(context.clock.now(), pollMs),
    warmth: neverListed,
    late: noLateBuilds,
    stranded: noStrandedJobs,
    numbers: undefined,
    histories: new Map(),
    refusals: new Map(),
    outgrown: new Set<string>(),
  };
  return { id, pools, specs, podStates: states, pollMs, memory: known ?? unknown };
}

function pollOf(pools: readonly Stored<CoderProvisioner>[]): number {
  const intervals = pools.flatMap(({ spec }) => {
    if (!spec?.autoscaling) return [];
    return [(spec.autoscaling.pollSeconds ?? autoscalingDefaults.pollSeconds) * 1_000];
  });
  return Math.min(POLL_MS, ...intervals);
}

/** When to poll next: soon after a change of a spec or a pod, unless coderd is unavailable. */
export function dueAt({ specs, podStates, pollMs, memory }: Organization): number {
  const { nextAt, since, tookMs, failures } = memory.poll;
  const isSame = memory.specs === specs && memory.pods === podStates;
  if (failures > 0 || isSame) return nextAt;
  return Math.min(nextAt, since + tookMs + pauseAfterPoll({ pollMs, isMoving: true, tookMs }));
}

/** Access to coderd. */
interface Coderd {
  readonly access: Access;
  readonly answers: SharedAnswers;
  /** Undefined if unknown. */
  readonly version: string | undefined;
}

/** The new state, and the first error. */
interface Finding {
  readonly memory: OrganizationMemory;
  readonly error?: unknown;
}

/** Polls, decides and scales. Returns scaling errors, so that the new state is kept. */
export async function watchOrganization(
  organization: Organization,
  coderd: Coderd,
  context: RunContext,
): Promise<Finding> {
  const { id, pools, specs, pollMs, memory } = organization;
  const now = () => context.clock.now();
  const asked = { answers: coderd.answers, organizationId: id, pollMs, now };
  const { state, observation } = await poll(coderd.access, memory.poll, asked);
  const at = now();
  const sources = pools.map((object) => observePool(object, context));
  const plan = decide(
    sources.map((source) => withMemory(source, memory, at)),
    observation,
    at,
  );
  const outgrown = warnedOf(organization, sources, { observation, context });
  const circumstances = { observation, refusals: memory.refusals, outgrown };
  const scaled = await scalePools(together(sources, plan), circumstances, context);
  const refused = scaled.flatMap(({ decision: { pool }, refusal }) =>
    refusal ? [[pool.name, refusal] as const] : [],
  );
  const stranded = strandedIn(sources, observation, memory);
  return {
    memory: {
      poll: scheduled(state, scaled, { pollMs, at, stranded }),
      specs,
      pods: organization.podStates,
      stranded,
      histories: new Map(plan.decisions.map(({ pool, history }) => [pool.name, history])),
      refusals: new Map(refused),
      outgrown,
      warmth: observation.seen
        ? await renewWarmth(organization, sources, { coderd, context })
        : memory.warmth,
      late: observation.seen
        ? lateBuilds(
            waitCauses(plan, { now: at, coderdVersion: coderd.version }),
            { stranded: stranded.groups, isCut: observation.queue.isCut },
            at,
          )
        : noLateBuilds,
      numbers: observation.seen ? numbersOf(plan) : undefined,
    },
    error: scaled.find(({ error }) => error !== undefined)?.error,
  };
}

function strandedIn(
  sources: readonly PoolSource[],
  observation: QueueObservation,
  { stranded }: OrganizationMemory,
): StrandedObservation {
  const pools = sources.map(({ pool }) => pool);
  return observation.seen ? strandedJobs(pools, observation.queue, stranded) : noStrandedJobs;
}

function withMemory({ pool }: PoolSource, { histories, warmth }: OrganizationMemory, at: number): Pool {
  const history = histories.get(pool.name) ?? [];
  return { ...pool, history, isKeptWarm: isKeptWarm(warmth, pool.name, at) };
}

/** Warns of builds that exceed the grace period of their pods, once per spec. */
function warnedOf(
  { specs, memory }: Organization,
  sources: readonly PoolSource[],
  { observation, context }: { readonly observation: QueueObservation; readonly context: RunContext },
): ReadonlySet<string> {
  const known = memory.specs === specs ? memory.outgrown : new Set<string>();
  if (!observation.seen) return known;
  const seen = outgrownPools(sources, observation.queue, context.clock.now());
  for (const source of sources)
    if (seen.has(source.pool.name) && !known.has(source.pool.name)) warnOfGrace(source, context);
  return new Set([...known, ...seen]);
}

/**
 * Runs last, because a list of workspaces takes time and is not urgent. Restarts after a change of a spec.
 */
async function renewWarmth(
  { id, specs, memory }: Organization,
  sources: readonly PoolSource[],
  { coderd: { access }, context }: { readonly coderd: Coderd; readonly context: RunContext },
): Promise<WarmWindows> {
  const { warmth } = memory;
  const now = () => context.clock.now();
  const isSame = memory.specs === specs;
  if (!access.client || (isSame && isFresh(warmth, now()))) return warmth;
  const { unfinished: _, ...restarted } = warmth;
  const pools = sources.map(({ pool }) => pool);
  const listing = { client: access.client, organizationId: id, now };
  const renewed = await listWarmWindows(pools, isSame ? warmth : restarted, listing);
  if (renewed.problem !== undefined && renewed.problem !== warmth.problem)
    context.log.warn("failed to list workspaces; pools at zero may miss automatic starts and stops", {
      problem: renewed.problem,
    });
  return renewed;
}

function together(sources: readonly PoolSource[], { decisions }: Plan): Decided[] {
  const decided = new Map(decisions.map((decision) => [decision.pool.name, decision]));
  return sources.flatMap((source) => {
    const decision = decided.get(source.pool.name);
    return decision ? [{ source, decision }] : [];
  });
}

interface Schedule {
  readonly pollMs: number;
  readonly at: number;
  readonly stranded: StrandedObservation;
}

function scheduled(
  state: PollState,
  scaled: readonly Scaled[],
  { pollMs, at, stranded }: Schedule,
): PollState {
  if (!state.seen) return state;
  const following = scaled.filter(({ source }) => source.provisioner.autoscaling);
  const { since, tookMs } = state;
  const isUnserved = stranded.groups.length > 0 || scaled.some(({ decision }) => lacksDaemons(decision));
  const pauseMs = pauseAfterPoll({
    pollMs: isUnserved ? Math.min(pollMs, UNSERVED_POLL_MS) : pollMs,
    isMoving:
      stranded.isUnconfirmed ||
      isMoving(
        following.map(({ decision }) => decision),
        at,
      ),
    tookMs,
  });
  return { ...state, nextAt: since + tookMs + pauseMs };
}

/** Whether builds are waiting for the pool, or pods have no daemon that can run one. */
function lacksDaemons({ pending, census }: Decision): boolean {
  const { starting = 0, waiting = 0, failing = 0 } = census ?? {};
  return pending + starting + waiting + failing > 0;
}
