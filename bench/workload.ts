/** One line of a report: what was measured, what came out, and what it must not exceed. */
export interface Figure {
  readonly what: string;
  /** Not a number when it could not be measured. */
  readonly value: number;
  readonly unit: string;
  readonly limit?: number | undefined;
}

/** How much load to make: the defaults are those of the report. */
export interface Scale {
  /** Of the fleets, each so many control planes and as many provisioners, smallest first. */
  readonly sizes: readonly number[];
  readonly objects: number;
  /** How many unrelated Secrets there are, fewest first. */
  readonly secrets: readonly number[];
  readonly runs: number;
}

/** Something to measure, with clusters and processes of its own. */
export interface Workload {
  readonly name: string;
  readonly title: string;
  run(scale: Scale, report: Report): Promise<Figure[]>;
}

/** Says how far a workload is, to whoever waits for it. */
export type Report = (progress: string) => void;

/** Measures a part. One that fails becomes a figure that says so, and whatever else is measured goes on. */
export async function attempted(
  what: string,
  report: Report,
  measure: () => Promise<Figure[]>,
): Promise<Figure[]> {
  try {
    return await measure();
  } catch (error) {
    report(`${what} failed: ${error instanceof Error ? error.stack : error}`);
    return [{ what, value: Number.NaN, unit: "" }];
  }
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The smallest value that is not exceeded by this part of them, such as 0.99. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN;
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
