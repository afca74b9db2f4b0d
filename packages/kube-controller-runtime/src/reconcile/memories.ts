import type { ObjectKey } from "../object.ts";

/** Clocks are corrected by less than this all the time. */
const CORRECTION_MS = 1_000;

/**
 * What the operator remembers of the objects of one kind between runs, so that a run with nothing to do asks
 * nobody. Losing it costs a few questions, never correctness. An object of another identity, such as one
 * that was deleted and made anew, starts with an empty one. Memories say when things happened, so all are lost when the clock was set back: what happened a
 * moment ago would lie ahead, and a wait that counts from then would take that much longer.
 */
export class Memories<M extends object> {
  readonly #byKey = new Map<ObjectKey, { readonly identity: string; readonly memory: M }>();
  readonly #create: () => M;
  #now = Number.NEGATIVE_INFINITY;

  constructor(create: () => M) {
    this.#create = create;
  }

  of(key: ObjectKey, identity: string, now: number): M {
    if (now < this.#now - CORRECTION_MS) this.#byKey.clear();
    this.#now = now;
    const present = this.#byKey.get(key);
    if (present?.identity === identity) return present.memory;
    const memory = this.#create();
    this.#byKey.set(key, { identity, memory });
    return memory;
  }

  forget(key: ObjectKey): void {
    this.#byKey.delete(key);
  }
}
