import type { Clock } from "kube-controller-runtime";
import type { Result } from "./result.ts";

/** A finished call to coderd or its database. */
export interface FinishedCall {
  /** Method name, from a small set. */
  readonly call: string;
  /** `ok`, the kind of failure, or `error` for an unexpected error. */
  readonly result: string;
  readonly seconds: number;
}

type Call = (...input: unknown[]) => Promise<Result<unknown, { readonly kind: string }>>;

/** Wraps calls so that each is reported when it ends. */
export function timed<C extends object>(
  calls: C,
  clock: Pick<Clock, "monotonic">,
  report: (call: FinishedCall) => void,
): C {
  const measured = Object.entries(calls).map(([call, run]: [string, Call]) => [
    call,
    async (...input: unknown[]) => {
      const start = clock.monotonic();
      let result = "error";
      try {
        const answer = await run(...input);
        result = answer.ok ? "ok" : answer.failure.kind;
        return answer;
      } finally {
        report({ call, result, seconds: (clock.monotonic() - start) / 1_000 });
      }
    },
  ]);
  return Object.fromEntries(measured) as C;
}
