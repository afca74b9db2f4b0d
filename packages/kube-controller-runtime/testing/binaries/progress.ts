/** Reports the progress of a long preparation to the user. */
export type Log = (line: string) => void;

const TICK_MS = 10_000;

/** Logs `describe()` with the elapsed time every ten seconds until `work` ends. */
export async function withTicker<T>(log: Log, describe: () => string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const ticker = setInterval(
    () => log(`${describe()} (${elapsed(performance.now() - started)} so far)`),
    TICK_MS,
  );
  try {
    return await work();
  } finally {
    clearInterval(ticker);
  }
}

/** `95000` → `1m35s`. */
export function elapsed(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
