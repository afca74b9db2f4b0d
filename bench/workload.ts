/** One line of a report: what was measured, what came out, and what it must not exceed. */
export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly limit?: number;
}

/** How much load to make: the defaults are those of the report. */
export interface Scale {
  readonly objects: number;
  readonly secrets: number;
  readonly runs: number;
}

/** Something to measure, with clusters and processes of its own. */
export interface Workload {
  readonly name: string;
  readonly title: string;
  run(scale: Scale, tell: (progress: string) => void): Promise<Figure[]>;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Does so many things, some at a time, in the order of their numbers. */
export async function concurrently(
  count: number,
  atOnce: number,
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** The milliseconds that something takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
