import type { Medium } from "./text.ts";

/** How an answer is shown, and the current time. */
export interface OutputStyle extends Medium {
  readonly unicode: boolean;
  /** For ages and days left. */
  readonly now: number;
}

/** What is known about the output stream. */
export interface OutputTarget {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

const MIN_WIDTH = 40;
const DEFAULT_WIDTH = 100;

/**
 * Color and Unicode for a terminal that supports them, plain text of unlimited width otherwise. Respects
 * `NO_COLOR` and `TERM=dumb`; a locale other than UTF-8 gets ASCII.
 */
export function outputStyleOf(outlet: OutputTarget, env: NodeJS.ProcessEnv, now: number): OutputStyle {
  if (!outlet.isTTY || env.TERM === "dumb") return plainOutput(now);
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "";
  return {
    width: Math.max(MIN_WIDTH, outlet.columns || DEFAULT_WIDTH),
    color: !env.NO_COLOR,
    unicode: /utf-?8/i.test(locale) || process.platform === "darwin" || env.WT_SESSION !== undefined,
    now,
  };
}

export function plainOutput(now: number): OutputStyle {
  return { width: Number.POSITIVE_INFINITY, color: false, unicode: false, now };
}
