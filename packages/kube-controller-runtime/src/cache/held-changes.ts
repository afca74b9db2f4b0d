import { type KubeObject, keyOfObject, type ObjectKey } from "../object.ts";

interface ChangeOfObject {
  readonly object: KubeObject;
  readonly ownWrite: boolean;
}

interface Flight<C> {
  writes: number;
  changes: C[];
}

/**
 * Changes of objects that this process is writing. The watch may report a write before the response to it
 * arrives, and only the response shows whose change it is: it is held until then.
 */
export class HeldChanges<C extends ChangeOfObject> {
  readonly #flights = new Map<ObjectKey, Flight<C>>();

  /** Before a write is sent. */
  begin(key: ObjectKey): void {
    const flight = this.#flights.get(key) ?? { writes: 0, changes: [] };
    flight.writes++;
    this.#flights.set(key, flight);
  }

  /** After the response was handled, or the write failed. Returns the held changes. */
  end(key: ObjectKey): readonly C[] {
    const flight = this.#flights.get(key);
    if (!flight) return [];
    const { changes } = flight;
    flight.writes--;
    flight.changes = [];
    if (flight.writes === 0) this.#flights.delete(key);
    return changes;
  }

  /** Whether the change is held. */
  hold(change: C): boolean {
    const flight = this.#flights.get(keyOfObject(change.object));
    flight?.changes.push(change);
    return flight !== undefined;
  }

  /** Marks the held changes of an object that the response explains. */
  claim(key: ObjectKey, isOwn: (change: C) => boolean): void {
    const flight = this.#flights.get(key);
    if (!flight) return;
    flight.changes = flight.changes.map((change) => (isOwn(change) ? { ...change, ownWrite: true } : change));
  }
}
