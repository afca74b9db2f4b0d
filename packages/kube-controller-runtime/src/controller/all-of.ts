import { type ForeignObject, NotOursError } from "./ownership.ts";

/** Waits for all, also when some fail: what is not ours is reported together, any other failure comes first. */
export async function allOf<R>(work: readonly Promise<R>[]): Promise<R[]> {
  const results: R[] = [];
  const foreign: ForeignObject[] = [];
  for (const settled of await Promise.allSettled(work)) {
    if (settled.status === "fulfilled") results.push(settled.value);
    else if (settled.reason instanceof NotOursError) foreign.push(...settled.reason.objects);
    else throw settled.reason;
  }
  const [first, ...more] = foreign;
  if (first) throw new NotOursError([first, ...more]);
  return results;
}
