import type { ObjectKey } from "../../runtime/object.ts";

/**
 * What the operator remembers of the objects of one kind between runs, so that a run with nothing to do asks
 * nobody. Losing it costs a few questions, never correctness. An object that was deleted and made anew starts
 * without any.
 */
export class Memories<M extends object> {
  readonly #byKey = new Map<ObjectKey, { readonly uid: string; readonly memory: Partial<M> }>();

  of(key: ObjectKey, uid: string): Partial<M> {
    const present = this.#byKey.get(key);
    if (present?.uid === uid) return present.memory;
    const memory: Partial<M> = {};
    this.#byKey.set(key, { uid, memory });
    return memory;
  }

  forget(key: ObjectKey): void {
    this.#byKey.delete(key);
  }
}
