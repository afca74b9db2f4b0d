import { styleText } from "node:util";

type Style = "bold" | "dim" | "green" | "red" | "yellow" | "cyan";

/** Text in one style. A line is a list of spans, so that it can be cut to a width before colors are added. */
export interface Span {
  readonly text: string;
  readonly style?: Style;
}

export type Line = readonly Span[];

/** Where lines are written: its width, and whether it supports colors and more than ASCII. */
export interface Medium {
  readonly width: number;
  readonly color: boolean;
  readonly unicode?: boolean;
}

/** Characters that move the cursor, change a color, or change the direction of text. */
const UNSHOWN = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const UNSHOWN_RUN = new RegExp(`${UNSHOWN.source}+`, "gu");

/** Escapes control characters, except line ends, in text for programs whose strings are in double quotes. */
export function escaped(text: string): string {
  const code = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(UNSHOWN, (character) => (character === "\n" ? character : code(character)));
}

/** Much of the shown text comes from others: only a style may move the cursor or change a color. */
export function span(text: string, style?: Style): Span {
  const plain = text.replace(UNSHOWN_RUN, " ");
  return style ? { text: plain, style } : { text: plain };
}

/** The line in a style that marks it as secondary. */
export function dimmed(line: Line): Line {
  return line.map(({ text }) => ({ text, style: "dim" }));
}

/** The line as written, cut to the width: a longer one would break the count of lines on the screen. */
export function render(line: Line, { width, color, unicode = true }: Medium): string {
  return cut(line, width, unicode ? "…" : "~")
    .map(({ text, style }) => (style && color ? styleText(style, text, { validateStream: false }) : text))
    .join("");
}

/** The line without the part beyond the width. */
export function cut(line: Line, width: number, ellipsis = "…"): Line {
  let left = width;
  return line.map((each) => {
    const { text } = each;
    const end = left > 0 ? ellipsis : "";
    const shown = text.length > left ? `${text.slice(0, Math.max(0, left - 1))}${end}` : text;
    left -= shown.length;
    return { ...each, text: shown };
  });
}

/** Wraps spans to the width, with an indent before each line. */
export function wrap(spans: readonly Span[], { width, indent }: { width: number; indent: string }): Line[] {
  const lines: Span[][] = [];
  let used = width;
  for (const next of spans) {
    if (used + next.text.length + 2 > width) {
      lines.push([span(indent)]);
      used = indent.length;
    }
    lines.at(-1)?.push(next, span("  "));
    used += next.text.length + 2;
  }
  return lines;
}
