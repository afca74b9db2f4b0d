import type { EntityResult, Verdict } from "./status.ts";

/** The result of the last comparison. Valid until a time, and only for the same inputs. */
export interface ComparisonMemory {
  compared?: { readonly inputs: string; readonly until: number; readonly verdict: Verdict };
}

/** Compares if it is due or if the inputs have changed. Otherwise, returns the last result, without a request. */
export async function compareWhenDue(
  memory: ComparisonMemory,
  { inputs, now }: { readonly inputs: string; readonly now: number },
  compare: () => Promise<Verdict>,
): Promise<EntityResult> {
  const { compared } = memory;
  if (compared?.inputs === inputs && now < compared.until)
    return { condition: compared.verdict.condition, requeueAfterMs: compared.until - now };
  const verdict = await compare();
  const { condition, dueInMs } = verdict;
  if (condition.status === "True") memory.compared = { inputs, until: now + dueInMs, verdict };
  else delete memory.compared;
  return { condition, requeueAfterMs: dueInMs };
}
