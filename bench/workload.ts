/** One line of a report: what was measured, the value, and its limit. */
export interface Figure {
  readonly what: string;
  /** NaN if it could not be measured. */
  readonly value: number;
  readonly unit: string;
  readonly limit?: number | undefined;
}

/** The amount of load; the defaults are those of the report. */
export interface Scale {
  /** The sizes of the fleets: the number of control planes, and of provisioners, in ascending order. */
  readonly sizes: readonly number[];
  readonly objects: number;
  /** The numbers of unrelated Secrets, in ascending order. */
  readonly secrets: readonly number[];
  readonly runs: number;
}

/** A measurement with its own clusters and processes. */
export interface Workload {
  readonly name: string;
  readonly title: string;
  run(scale: Scale, report: Report): Promise<Figure[]>;
}

/** Reports the progress of a workload. */
export type Report = (progress: string) => void;

/** Measures a part. A failure becomes a figure, and the other measurements continue. */
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

/** The smallest value that is not exceeded by this share of the values, such as 0.99. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN;
}

/** Runs this many tasks, some concurrently, in the order of their numbers. */
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

/** The duration in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
