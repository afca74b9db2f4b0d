import type { RunContext } from "kube-controller-runtime";
import { isPaused } from "../pause.ts";
import type { Decision } from "./decide.ts";
import { explainGrace } from "./grace.ts";
import { markPods, type Refusal, unmarkPods } from "./mark.ts";
import type { QueueSight } from "./pool.ts";
import type { PoolSource } from "./pools.ts";
import { forgetScaling, scalePool } from "./scale.ts";

/** A pool, and what was decided for it. */
export interface Decided {
  readonly source: PoolSource;
  readonly decision: Decision;
}

interface Circumstances {
  readonly sight: QueueSight;
  /** Marks that were refused last time, by the name of the pool. */
  readonly refusals: ReadonlyMap<string, Refusal>;
  /** Pools whose builds outlast the grace period of their pods, by name. */
  readonly outgrown: ReadonlySet<string>;
}

export interface Scaled {
  /** What was asked for. */
  readonly decision: Decision;
  readonly refusal: Refusal | undefined;
  /** Why it could not be asked for. */
  readonly error?: unknown;
}

/** Asks each pool that follows the queue for its number. A failure with one of them does not keep the others waiting. */
export function scalePools(
  decided: readonly Decided[],
  circumstances: Circumstances,
  context: RunContext,
): Promise<Scaled[]> {
  return Promise.all(
    decided.map(async (each) => {
      try {
        return await scaleOne(each, circumstances, context);
      } catch (error) {
        return { decision: each.decision, refusal: undefined, error };
      }
    }),
  );
}

/** Marks come first: they decide which pods a smaller number takes away. */
async function scaleOne(
  { source, decision }: Decided,
  { sight, refusals, outgrown }: Circumstances,
  context: RunContext,
): Promise<Scaled> {
  const before = refusals.get(source.pool.name);
  if (isPaused(source.object)) return { decision, refusal: before };
  if (!source.provisioner.autoscaling) {
    const refusal = await unmarkPods(source, before, context);
    await forgetScaling(source, context);
    return { decision, refusal };
  }
  const warning = outgrown.has(source.pool.name) ? explainGrace(source) : undefined;
  if (!sight.seen) {
    await scalePool(source, { decision, warning }, context);
    return { decision, refusal: before };
  }
  const refusal = await markPods(source, { daemons: sight.queue.daemons, before }, context);
  const possible = refusal ? withoutLess(decision) : decision;
  await scalePool(source, { decision: possible, warning }, context);
  return { decision: possible, refusal };
}

/** Without the marks of all that are busy, a smaller number could take one of them. */
function withoutLess(decision: Decision): Decision {
  const { pool, replicas } = decision;
  if (replicas >= pool.replicas) return decision;
  const held = "pods of busy daemons could not be marked as such; the operator's log says why";
  return { ...decision, pool: { ...pool, held }, replicas: pool.replicas, cause: "held" };
}
