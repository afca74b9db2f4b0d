/** What can go wrong between a caller and coderd. */
export type Fault =
  | { readonly kind: "latency"; readonly ms: number }
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly body?: unknown;
      readonly headers?: Record<string, string>;
    }
  | { readonly kind: "rateLimited"; readonly retryAfter?: string }
  | { readonly kind: "html"; readonly status?: number }
  | { readonly kind: "truncatedJson" }
  | { readonly kind: "wrongShape" }
  | { readonly kind: "redirect"; readonly to: string }
  | { readonly kind: "redirectLoop" }
  /** The answer begins and then nothing more comes, or nothing comes at all. */
  | { readonly kind: "stall"; readonly midBody?: boolean }
  /** The connection ends in the middle of the answer, or before it. */
  | { readonly kind: "cut"; readonly midBody?: boolean };

export interface Injection {
  readonly fault: Fault;
  /** `METHOD /path` as a whole, or a pattern for it; every request when left out. */
  readonly on?: string | RegExp;
  /** How many requests are hit; all of them when left out. */
  readonly times?: number;
  /** How many matching requests pass before the first is hit. */
  readonly after?: number;
  /** The request takes effect first: only the answer is lost. */
  readonly afterEffect?: boolean;
}

interface Pending {
  readonly injection: Injection;
  toPass: number;
  toHit: number;
}

/** The faults a deployment is to show, in the order they were injected. */
export class Faults {
  readonly #pending = new Set<Pending>();

  /** Returns the function that ends this fault. */
  inject(injection: Injection): () => void {
    const pending = {
      injection,
      toPass: injection.after ?? 0,
      toHit: injection.times ?? Number.POSITIVE_INFINITY,
    };
    this.#pending.add(pending);
    return () => this.#pending.delete(pending);
  }

  clear(): void {
    this.#pending.clear();
  }

  /** The fault that hits this request, counted as used. */
  next(request: string): Injection | undefined {
    for (const pending of this.#pending) {
      if (!matches(pending.injection.on, request)) continue;
      if (pending.toPass > 0) {
        pending.toPass--;
        continue;
      }
      if (--pending.toHit === 0) this.#pending.delete(pending);
      return pending.injection;
    }
    return undefined;
  }
}

export function matches(pattern: string | RegExp | undefined, request: string): boolean {
  if (pattern === undefined) return true;
  return typeof pattern === "string" ? pattern === request : pattern.test(request);
}
