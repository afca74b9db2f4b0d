import { type Outcome, simulateDay } from "../../lab/queue/day.ts";
import { type Load, loads } from "../../lab/queue/loads.ts";
import { chart } from "./chart.ts";
import { COMPARED, FOLLOWING, POLICIES } from "./policies.ts";

export const SEED = 1;

/** What a run of the simulator is kept as. */
export interface Report {
  /** A part of a page. */
  readonly markdown: string;
  /** Pictures by the name of their file. */
  readonly pictures: ReadonlyMap<string, string>;
}

/** Simulates every load under every policy. The same for the same seed, on any machine. */
export function report(seed: number): Report {
  const pictures = new Map<string, string>();
  const sections = loads(seed).map((load) => {
    const outcomes = new Map(POLICIES.map((policy) => [policy, simulateDay(load, policy, seed)]));
    const picture = `queue-${load.name}.svg`;
    const [following, fixed] = [outcomes.get(FOLLOWING), outcomes.get(COMPARED)];
    if (following && fixed) pictures.set(picture, chart({ title: load.title, following, fixed }));
    const rows = [...outcomes].map(([{ name }, outcome]) => row(name, outcome));
    return section(load, picture, rows);
  });
  return { markdown: [`Seed ${seed}.`, ...sections].join("\n\n"), pictures };
}

function section({ title, about }: Load, picture: string, rows: readonly string[]): string {
  return [
    `### ${title}`,
    "",
    `${about[0]?.toUpperCase()}${about.slice(1)}.`,
    "",
    `![Builds that run or wait over the day, and the daemons of two pools](images/${picture})`,
    "",
    "| Pool | Median wait | p95 wait | Longest wait | Given up | Drained | Daemon-hours |",
    "|---|---:|---:|---:|---:|---:|---:|",
    ...rows,
  ].join("\n");
}

function row(name: string, { waits, reaped, drained, daemonHours }: Outcome): string {
  const [median, p95, longest] = [0.5, 0.95, 1].map((share) => `${quantile(waits, share)} s`);
  return `| ${name} | ${median} | ${p95} | ${longest} | ${reaped} | ${drained} | ${daemonHours.toFixed(0)} |`;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(Math.ceil(sorted.length * share) - 1, 0)] ?? 0;
}
