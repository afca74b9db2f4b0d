import { styleText } from "node:util";

type Style = "bold" | "dim" | "green" | "red" | "yellow" | "cyan";

/** Text of one look. Lines are lists of these, so that they can be cut to a width before colour is added. */
export interface Span {
  readonly text: string;
  readonly style?: Style;
}

export type Line = readonly Span[];

/** Where lines go to: how wide it is, and whether it shows colours and more than ASCII. */
export interface Medium {
  readonly width: number;
  readonly colour: boolean;
  readonly unicode?: boolean;
}

/** What moves the cursor, changes a colour, or turns the direction of text. */
const UNSHOWN = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const UNSHOWN_RUN = new RegExp(`${UNSHOWN.source}+`, "gu");

/** Text for programs in which strings are in double quotes: what no terminal should get is escaped, but for line ends. */
export function escaped(text: string): string {
  const code = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(UNSHOWN, (character) => (character === "\n" ? character : code(character)));
}

/** Much of what is shown was written by others: nothing but a style moves the cursor or changes a colour. */
export function span(text: string, style?: Style): Span {
  const plain = text.replace(UNSHOWN_RUN, " ");
  return style ? { text: plain, style } : { text: plain };
}

/** The same line, which is not what the person looks for. */
export function dimmed(line: Line): Line {
  return line.map(({ text }) => ({ text, style: "dim" }));
}

/** A line as it is written, cut to the width: a longer one would break the count of lines on the screen. */
export function render(line: Line, { width, colour, unicode = true }: Medium): string {
  return cut(line, width, unicode ? "…" : "~")
    .map(({ text, style }) => (style && colour ? styleText(style, text, { validateStream: false }) : text))
    .join("");
}

/** The line without what is beyond the width. */
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

/** Spans in as few lines as the width allows, each after an indent. */
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
