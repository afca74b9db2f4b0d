import type { Frame } from "./svg.ts";

/** The minimum share of an act for each frame, so that it can be seen. */
const MIN_SHARE = 0.06;

/**
 * Scales the times of an act's frames so that it starts at `startMs` and reaches its last frame after
 * `showMs`. Relative durations are kept, except that every frame is visible for a minimum time.
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
