import { type Outcome, type Policy, simulateDay } from "../../lab/queue/day.ts";
import { type Load, loads } from "../../lab/queue/loads.ts";
import { chart } from "./chart.ts";

export const SEED = 1;

/** The stored result of a simulation. */
export interface Report {
  /** A part of a page. */
  readonly markdown: string;
  /** Charts by file name. */
  readonly pictures: ReadonlyMap<string, string>;
}

/** Simulates every load with every policy. Deterministic for a seed, on any machine. */
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

/** The policy in the charts, and the one that it is compared with. */
const FOLLOWING: Policy = { name: "follows the queue, 0 to 20", min: 0, max: 20, minIdle: 0 };
const COMPARED: Policy = { name: "fixed at 10", fixed: 10 };

/** In the order of the tables. */
const POLICIES: readonly Policy[] = [
  { name: "fixed at 2", fixed: 2 },
  { name: "fixed at 5", fixed: 5 },
  COMPARED,
  { name: "fixed at 20", fixed: 20 },
  FOLLOWING,
  { name: "follows the queue, 1 to 20, 2 idle", min: 1, max: 20, minIdle: 2 },
];
