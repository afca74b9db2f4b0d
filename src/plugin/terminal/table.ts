import { type Line, type Span, span } from "./text.ts";

/** A column: its heading, and on which side its cells begin. */
export interface Column {
  readonly title: string;
  readonly align?: "right";
}

const GAP = "  ";

/** Cells in columns that are as wide as their widest cell; nothing at all when there is no row. */
export function table(columns: readonly Column[], rows: readonly (readonly Span[])[], indent = ""): Line[] {
  if (rows.length === 0) return [];
  const head = columns.map(({ title }) => span(title, "dim"));
  const all = [head, ...rows];
  const widths = columns.map((_, index) => Math.max(...all.map((row) => row[index]?.text.length ?? 0)));
  return all.map((row) => [
    span(indent),
    ...columns.flatMap(({ align }, index) => {
      const cell = row[index] ?? span("");
      const room = " ".repeat((widths[index] ?? 0) - cell.text.length);
      const isLast = index === columns.length - 1;
      if (align === "right") return [span(room), cell, span(isLast ? "" : GAP)];
      return [cell, span(isLast ? "" : room + GAP)];
    }),
  ]);
}
