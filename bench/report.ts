import type { Machine } from "./machine.ts";
import type { Figure } from "./workload.ts";

export interface WorkloadResult {
  readonly workload: string;
  readonly title: string;
  /** When its last figure was measured, in RFC 3339, and where. */
  readonly measuredAt: string;
  readonly machine: Machine;
  readonly figures: readonly Figure[];
}

const DIGITS: Readonly<Record<string, number>> = { s: 2, ms: 1, MB: 1, "×": 2, cores: 2, each: 1 };

/** One result for the terminal. */
export function table({ title, figures }: WorkloadResult): string {
  const rows = figures.map((figure) => [figure.what, amount(figure), `${verdict(figure)} ${bound(figure)}`]);
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const lines = rows.map(([what = "", value = "", judgement = ""]) =>
    `  ${what.padEnd(width(0))}  ${value.padStart(width(1))}  ${judgement}`.trimEnd(),
  );
  return [title, ...lines].join("\n");
}

/** All results as a part of a page. */
export function markdown(results: readonly WorkloadResult[]): string {
  const machines = [...new Set(results.map(({ machine }) => describeMachine(machine)))];
  const numbered = machines.map((machine, index) => `- Machine ${index + 1}: ${machine}`);
  return [...numbered, "", ...results.flatMap((result) => section(result, machines))].join("\n");
}

function describeMachine({ processor, cores, memoryGB, system, node, kubernetes }: Machine): string {
  return `${cores} × ${processor}, ${memoryGB} GB, ${system}, Node ${node}, Kubernetes ${kubernetes}`;
}

function section(
  { workload, title, measuredAt, machine, figures }: WorkloadResult,
  machines: readonly string[],
): string[] {
  const number = machines.indexOf(describeMachine(machine)) + 1;
  const date = measuredAt.slice(0, "2026-01-01".length);
  const cases = [...new Set(figures.flatMap(({ what }) => splitCase(what)?.of ?? []))];
  const isCompared = cases.length > 1;
  return [
    `### ${title}`,
    "",
    `\`${workload}\`, ${date}, machine ${number}.`,
    "",
    ...(isCompared ? comparison(cases, figures) : []),
    ...plainTable(isCompared ? figures.filter(({ what }) => !splitCase(what)) : figures),
  ];
}

/** A column for each case, such as "50 + 50, coderd 0 ms". */
function comparison(cases: readonly string[], figures: readonly Figure[]): string[] {
  const measured = [...new Set(figures.flatMap(({ what }) => splitCase(what)?.what ?? []))];
  const rows = measured.map((name) => {
    const cells = cases.map((each) => figures.find(({ what }) => what === `${each}: ${name}`));
    return `| ${[name, ...cells.map((figure) => (figure ? judged(figure) : ""))].join(" | ")} |`;
  });
  return [`| Measured | ${cases.join(" | ")} |`, `|---|${cases.map(() => "---:|").join("")}`, ...rows, ""];
}

function plainTable(figures: readonly Figure[]): string[] {
  if (figures.length === 0) return [];
  return [
    "| Measured | Figure |",
    "|---|---:|",
    ...figures.map((figure) => `| ${figure.what} | ${judged(figure)} |`),
    "",
  ];
}

/** With its goal in parentheses, and in bold if it misses the goal. */
function judged(figure: Figure): string {
  const text = figure.limit === undefined ? amount(figure) : `${amount(figure)} (${bound(figure)})`;
  return verdict(figure) === "MISSED" ? `**${text}**` : text;
}

function splitCase(what: string): { readonly of: string; readonly what: string } | undefined {
  const [of = "", rest] = what.split(/: (.*)/s);
  return rest === undefined ? undefined : { of, what: rest };
}

function amount({ value, unit }: Figure): string {
  if (!Number.isFinite(value)) return "failed";
  return `${value.toFixed(DIGITS[unit] ?? 0)} ${unit}`.trim();
}

function bound({ limit, unit }: Figure): string {
  return limit === undefined ? "" : `≤ ${limit} ${unit}`.trim();
}

function verdict({ value, limit }: Figure): string {
  if (limit === undefined) return "";
  return Number.isFinite(value) && value <= limit ? "met" : "MISSED";
}
