import { type Line, type Span, span, wrap } from "../../src/plugin/terminal/text.ts";
import { markOf, type Row, TITLE_WIDTH } from "../rows.ts";

/** A component that runs or is starting. */
export interface Part {
  readonly name: string;
  readonly state: "waiting" | "starting" | "running";
  readonly detail: string;
}

/** Everything that is visible at one moment. */
export interface View {
  readonly parts: readonly Part[];
  /** Empty until the manifests are applied. */
  readonly rows: readonly Row[];
  /** The last events, the newest last. */
  readonly recent: readonly string[];
  readonly elapsedMs: number;
}

const SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const SPIN_MS = 100;
const NAME_WIDTH = 12;
const INDENT = "    ";

/** The whole screen, top to bottom. */
export function frame(view: View, width: number): Line[] {
  const spinner = SPINNER[Math.floor(view.elapsedMs / SPIN_MS) % SPINNER.length] ?? "";
  return [
    [],
    ...view.parts.map((part) => partLine(part, spinner)),
    [],
    ...view.rows.flatMap((row) => rowLines(row, { spinner, width })),
    ...view.recent.map((line) => [span(`  ${line}`, "dim")]),
  ];
}

function partLine({ name, state, detail }: Part, spinner: string): Line {
  const mark = {
    waiting: span(" "),
    starting: span(spinner, "yellow"),
    running: span("✓", "green"),
  }[state];
  return [span("  "), mark, span(` ${name.padEnd(NAME_WIDTH)}`, "bold"), span(detail, "dim")];
}

/** An object: its name and facts, its conditions, and what blocks it. */
function rowLines(row: Row, { spinner, width }: { spinner: string; width: number }): Line[] {
  const mark = row.blocked === undefined ? span("✓", "green") : span(spinner, "yellow");
  const title = row.title.padEnd(TITLE_WIDTH);
  return [
    [span("  "), mark, span(` ${title}`, "bold"), span(row.facts.join(" · "), "cyan")],
    ...wrap(row.conditions.map(conditionSpan), { width, indent: INDENT }),
    ...(row.blocked === undefined ? [] : [[span(`${INDENT}${row.blocked}`, "dim")]]),
    [],
  ];
}

function conditionSpan({ type, status }: Row["conditions"][number]): Span {
  const styles = { True: "green", False: "red" } as const;
  return span(`${markOf(status)} ${type}`, styles[status as keyof typeof styles] ?? "dim");
}
