import { NotOursError } from "./ownership.ts";

/** Waits for all, also when some fail: what is not ours is reported together, any other failure comes first. */
export async function allOf<R>(work: readonly Promise<R>[]): Promise<R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  for (const settled of await Promise.allSettled(work)) {
    if (settled.status === "fulfilled") results.push(settled.value);
    else failures.push(settled.reason);
  }
  const [first, ...more] = failures.filter((error) => error instanceof NotOursError);
  if (failures.length > more.length + (first ? 1 : 0))
    throw failures.find((error) => !(error instanceof NotOursError));
  if (first) throw new NotOursError([...first.objects, ...more.flatMap(({ objects }) => objects)]);
  return results;
}
