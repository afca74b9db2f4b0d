import type { Look } from "./look.ts";
import { type Line, span } from "./text.ts";
import { mark } from "./words.ts";

/** What could not be read, at the end of what could. */
export function gapLines(gaps: readonly string[], look: Look): Line[] {
  if (gaps.length === 0) return [];
  return [[], ...gaps.map((gap) => [mark("unknown", look), span(` ${gap}`, "dim")])];
}
