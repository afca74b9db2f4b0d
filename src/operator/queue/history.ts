import type { History } from "./pool.ts";

/**
 * The history with one more entry, without what is older than the window and without what a later entry exceeds:
 * its first entry is the highest number that was wanted within the window.
 */
export function remember(
  history: History,
  entry: { readonly at: number; readonly wanted: number },
  windowMs: number,
): History {
  const kept = history.filter(({ at, wanted }) => wanted > entry.wanted && at > entry.at - windowMs);
  return [...kept, entry];
}

export function highestOf(history: History): number {
  return history[0]?.wanted ?? 0;
}
