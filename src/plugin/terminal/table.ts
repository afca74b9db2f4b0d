import { type Line, span } from "./text.ts";

interface Form {
  readonly indent?: string;
  /** Right-aligned columns. */
  readonly right?: readonly string[];
}

const GAP = "  ";

/** Cells in columns that are as wide as their widest cell; nothing if there are no rows. */
export function table(titles: readonly string[], rows: readonly Line[], form: Form = {}): Line[] {
  if (rows.length === 0) return [];
  const { indent = "", right = [] } = form;
  const all: Line[] = [titles.map((title) => span(title, "dim")), ...rows];
  const widths = titles.map((_, index) => Math.max(...all.map((row) => row[index]?.text.length ?? 0)));
  return all.map((row) => [
    span(indent),
    ...titles.flatMap((title, index) => {
      const cell = row[index] ?? span("");
      const room = " ".repeat((widths[index] ?? 0) - cell.text.length);
      const isLast = index === titles.length - 1;
      if (right.includes(title)) return [span(room), cell, span(isLast ? "" : GAP)];
      return [cell, span(isLast ? "" : room + GAP)];
    }),
  ]);
}
