import type { RunContext } from "kube-controller-runtime";
import type { PoolSource } from "./observe.ts";
import type { Queue } from "./pool.ts";

/** Names of the pools whose builds exceed the termination grace period of their pods. */
export function outgrownPools(
  sources: readonly PoolSource[],
  { jobs, daemons }: Pick<Queue, "jobs" | "daemons">,
  now: number,
): ReadonlySet<string> {
  const begun = new Map(
    jobs.flatMap(({ workerId, startedAt }) => (workerId && startedAt ? [[workerId, startedAt]] : [])),
  );
  const since = new Map(daemons.map(({ id, name }) => [name, begun.get(id)]));
  const outgrown = sources.filter((source) => {
    const graceMs = graceSeconds(source) * 1_000;
    return [...source.pods.keys()].some((name) => now - (since.get(name) ?? now) > graceMs);
  });
  return new Set(outgrown.map(({ pool }) => pool.name));
}

/** Explains what to do. */
export function explainGrace(source: PoolSource): string {
  return `Builds take longer than spec.terminationGracePeriodSeconds (${graceSeconds(source)}); increase it, or builds are killed when their pod is deleted.`;
}

/** Emits an event the first time. */
export function warnOfGrace(source: PoolSource, { events }: RunContext): void {
  const message = explainGrace(source);
  events.event(source.object, { type: "Warning", reason: "GracePeriodTooShort", message });
}

function graceSeconds({ provisioner: { pod } }: PoolSource): number {
  return pod.terminationGracePeriodSeconds ?? 0;
}
