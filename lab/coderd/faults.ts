/** Faults between a client and coderd. */
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
  /** The response starts and then stalls, or never starts. */
  | { readonly kind: "stall"; readonly midBody?: boolean }
  /** The connection breaks in the middle of the response, or before it. */
  | { readonly kind: "cut"; readonly midBody?: boolean };

export interface Injection {
  readonly fault: Fault;
  /** The whole `METHOD /path`, or a pattern for it; defaults to every request. */
  readonly on?: string | RegExp;
  /** The number of affected requests; defaults to all. */
  readonly times?: number;
  /** The number of matching requests before the first affected one. */
  readonly after?: number;
  /** The request takes effect, and only the response is lost. */
  readonly afterEffect?: boolean;
}

interface Pending {
  readonly injection: Injection;
  toPass: number;
  toHit: number;
}

/** The faults of a deployment, in the order of their injection. */
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

  /** The fault for this request, counted as used. */
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
