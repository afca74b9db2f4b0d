import type { Frame } from "./svg.ts";

/** Nothing goes by faster than the eye: the least part of an act that a frame stays. */
const MIN_SHARE = 0.06;

/**
 * The frames of an act so that it begins at `startMs` and comes to its last frame after `showMs`. What took longer
 * takes longer, and what was over at once can still be seen.
 */
export function frameTimes(
  frames: readonly Frame[],
  { startMs, showMs }: { readonly startMs: number; readonly showMs: number },
): Frame[] {
  const realMs = frames.at(-1)?.atMs ?? 0;
  const stays = frames
    .slice(1)
    .map(({ atMs }, index) => Math.max(atMs - (frames[index]?.atMs ?? 0), realMs * MIN_SHARE));
  const scale = showMs / stays.reduce((sum, each) => sum + each, 0);
  let at = startMs;
  return frames.map(({ lines }, index) => {
    at += index === 0 ? 0 : (stays[index - 1] ?? 0) * scale;
    return { atMs: Math.round(at), lines };
  });
}
