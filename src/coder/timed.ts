import type { Clock } from "kube-controller-runtime";
import type { Result } from "./result.ts";

/** A call to coderd or to its database that is over. */
export interface FinishedCall {
  /** The method that was called; there are few. */
  readonly call: string;
  /** `ok`, the kind of the failure, or `error` for what was not foreseen. */
  readonly result: string;
  readonly seconds: number;
}

type Call = (...input: unknown[]) => Promise<Result<unknown, { readonly kind: string }>>;

/** The same calls, each of which is reported when it is over. */
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
