import { setTimeout as sleep } from "node:timers/promises";

/** How long to wait. */
export interface Deadline {
  readonly withinMs: number;
}

const INTERVAL_MS = 25;

/** Repeats the assertion until it holds; rejects with its last failure on timeout. */
export async function eventually<T>(assertion: () => T | Promise<T>, { withinMs }: Deadline): Promise<T> {
  const until = performance.now() + withinMs;
  let failure: unknown = new Error(`the assertion did not finish within ${withinMs} ms`);
  do {
    const outcome = await attempt(assertion, until - performance.now());
    if (outcome.is === "met") return outcome.value;
    if (outcome.is === "failed") failure = outcome.error;
    await sleep(INTERVAL_MS);
  } while (performance.now() < until);
  throw failure;
}

type Attempt<T> =
  | { readonly is: "met"; readonly value: T }
  | { readonly is: "failed"; readonly error: unknown }
  | { readonly is: "late" };

async function attempt<T>(assertion: () => T | Promise<T>, limitMs: number): Promise<Attempt<T>> {
  const timer = new AbortController();
  const late = sleep(Math.max(0, limitMs), { is: "late" } as const, { signal: timer.signal });
  late.catch(() => undefined);
  const outcome = (async (): Promise<Attempt<T>> => {
    try {
      return { is: "met", value: await assertion() };
    } catch (error) {
      return { is: "failed", error };
    }
  })();
  return Promise.race([outcome, late]).finally(() => timer.abort());
}
