import type { Look } from "./look.ts";
import { dimmed, type Line, span } from "./text.ts";
import { mark, paragraph } from "./words.ts";

/** What could not be read, at the end of what could. */
export function gapLines(gaps: readonly string[], look: Look): Line[] {
  if (gaps.length === 0) return [];
  const sign = mark("unknown", look);
  const indent = " ".repeat(sign.text.length + 1);
  return [
    [],
    ...gaps.flatMap((gap) => {
      const [first = [], ...rest] = paragraph(gap, look, indent);
      const text = first.map(({ text: all }) => all.slice(indent.length)).join("");
      return [[sign, span(` ${text}`, "dim")], ...rest.map(dimmed)];
    }),
  ];
}
