import type { OutputStyle } from "./output-style.ts";
import { dimmed, type Line, type Span, span } from "./text.ts";

export type Level = "good" | "wrong" | "waiting" | "unknown";

const MARKS = {
  good: { style: "green", unicode: "✓", ascii: "ok" },
  wrong: { style: "red", unicode: "✗", ascii: "!!" },
  waiting: { style: "yellow", unicode: "…", ascii: ".." },
  unknown: { style: "dim", unicode: "–", ascii: "--" },
} as const;

/** A symbol that shows the state without color too. */
export function mark(level: Level, { unicode }: OutputStyle): Span {
  const { style, unicode: sign, ascii } = MARKS[level];
  return span(unicode ? sign : ascii, style);
}

export function separator({ unicode }: OutputStyle): string {
  return unicode ? " · " : ", ";
}

/** Lines under a heading; nothing if there are none. */
export function section(title: string, lines: readonly Line[]): Line[] {
  return lines.length === 0 ? [] : [[], [span(title, "bold")], ...lines];
}

const UNITS: readonly (readonly [string, number])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
];

/** An age in kubectl's format: the largest unit that gives at least two. */
export function age(since: string | undefined, now: number): string {
  const ms = now - Date.parse(since ?? "");
  if (Number.isNaN(ms)) return "?";
  const [unit = "s", size = 1_000] = UNITS.find(([, each]) => ms >= 2 * each) ?? ["s", 1_000];
  return `${Math.max(0, Math.floor(ms / size))}${unit}`;
}

const MIN_TEXT_WIDTH = 30;

/** Wraps text to the width, with an indent before each line; words are never cut. */
export function paragraph(text: string, { width }: OutputStyle, indent: string): Line[] {
  const room = Math.max(MIN_TEXT_WIDTH, width - indent.length);
  const lines: string[] = [];
  for (const word of span(text).text.split(/ +/).filter(Boolean)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= room)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.map((line) => [span(indent + line)]);
}

/** What could not be read; printed last. */
export function gapLines(gaps: readonly string[], style: OutputStyle): Line[] {
  if (gaps.length === 0) return [];
  const sign = mark("unknown", style);
  const indent = " ".repeat(sign.text.length + 1);
  return [
    [],
    ...gaps.flatMap((gap) => {
      const [first = [], ...rest] = paragraph(gap, style, indent);
      const text = first.map(({ text: all }) => all.slice(indent.length)).join("");
      return [[sign, span(` ${text}`, "dim")], ...rest.map(dimmed)];
    }),
  ];
}
