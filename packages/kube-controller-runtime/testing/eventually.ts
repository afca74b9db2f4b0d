import { vi } from "vitest";

export interface Patience {
  readonly withinMs: number;
}

/** Repeats the assertion until it holds; fails with its last words when it does not hold in time. */
export function eventually<T>(assertion: () => T | Promise<T>, { withinMs }: Patience): Promise<T> {
  return vi.waitFor(assertion, { timeout: withinMs, interval: 25 });
}
