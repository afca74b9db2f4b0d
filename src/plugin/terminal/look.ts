import type { Medium } from "./text.ts";

/** How an answer is shown: to whom, and when. */
export interface Look extends Medium {
  readonly unicode: boolean;
  /** For ages and days left. */
  readonly now: number;
}

/** What is known of where the output goes. */
export interface Outlet {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

const NARROWEST = 40;
const USUAL_WIDTH = 100;

/**
 * Colour and Unicode for a terminal that has them, plain text without a limit of width for everything else. `NO_COLOR`
 * and `TERM=dumb` are honoured; a locale that is not UTF-8 gets ASCII.
 */
export function lookOf(outlet: Outlet, env: NodeJS.ProcessEnv, now: number): Look {
  if (!outlet.isTTY || env.TERM === "dumb") return plainLook(now);
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "";
  return {
    width: Math.max(NARROWEST, outlet.columns || USUAL_WIDTH),
    colour: !env.NO_COLOR,
    unicode: /utf-?8/i.test(locale) || process.platform === "darwin" || env.WT_SESSION !== undefined,
    now,
  };
}

export function plainLook(now: number): Look {
  return { width: Number.POSITIVE_INFINITY, colour: false, unicode: false, now };
}
