import type { Clock } from "kube-controller-runtime";
import type { Row } from "./rows.ts";
import { seconds } from "./show.ts";

export interface WatchOptions {
  /** Whether the given objects may still be not ready. */
  readonly enough: (late: readonly string[]) => boolean;
  readonly withinMs: number;
  readonly tickMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Polls the objects until only acceptable ones are not ready, or the signal is aborted. Rejects with those
 * that are not ready, and why, after `withinMs`.
 */
export async function watch(look: () => Promise<readonly Row[]>, options: WatchOptions): Promise<void> {
  const { enough, withinMs, tickMs, clock, signal } = options;
  const deadline = clock.monotonic() + withinMs;
  while (!signal.aborted) {
    const late = (await look()).flatMap(({ title, blocked }) =>
      blocked === undefined ? [] : [`${title}: ${blocked}`],
    );
    if (enough(late)) return;
    if (clock.monotonic() >= deadline) throw notReady(late, withinMs);
    await clock.sleep(tickMs, signal).catch(() => undefined);
  }
}

function notReady(late: readonly string[], withinMs: number): Error {
  return new Error(`not ready within ${seconds(withinMs)}:\n${late.map((line) => `  ${line}`).join("\n")}`);
}
