import { isNotFound } from "../client/error.ts";
import { find, findSame } from "../client/find.ts";
import type { RunContext } from "../controller/controller.ts";
import type { WithStatus } from "../controller/status.ts";
import type { Changes } from "../controller/steps.ts";
import type { Occurrence } from "../events/correlator.ts";
import { Secret } from "../kinds.ts";
import { type Kind, type KubeObject, refOf, type Stored } from "../object.ts";
import { checkpoint } from "./checkpoint.ts";

/** The object and Secrets of its namespace, as read from the API server. */
export interface Fresh<T extends KubeObject> {
  readonly object: Stored<T>;
  readonly secrets: readonly Stored<Secret>[];
}

/** The reconciled object, limited to what steps may change: its status and its events. */
export class OwnObject<T extends WithStatus<S>, S extends object> {
  readonly #context: Pick<RunContext, "client" | "events">;
  readonly #kind: Kind<T>;
  #latest: Stored<T>;

  constructor(context: Pick<RunContext, "client" | "events">, kind: Kind<T>, object: Stored<T>) {
    this.#context = context;
    this.#kind = kind;
    this.#latest = object;
  }

  /** As last read or written. */
  get latest(): Stored<T> {
    return this.#latest;
  }

  /** Emits an event for the object. */
  emit(type: Occurrence["type"], reason: string, message: string): void {
    this.#context.events.event(this.#latest, { type, reason, message });
  }

  /**
   * Makes a `checkpoint` of the object: an `exact` one rejects with a conflict if another client has written
   * in the meantime. If it resolves with `undefined`, the run must end.
   */
  async record(
    changes: (current: Partial<S>) => Changes<S>,
    { exact = false } = {},
  ): Promise<Stored<T> | undefined> {
    const write = { kind: this.#kind, object: this.#latest, exact };
    const written = await checkpoint<T, S>(write, changes, this.#context);
    if (written) this.#latest = written;
    return written;
  }

  /** Sets an annotation. When it resolves with `undefined`, the object is gone and the run must not go on. */
  async annotate(name: string, value: string): Promise<Stored<T> | undefined> {
    const { uid, annotations = {} } = this.#latest.metadata;
    if (annotations[name] === value) return this.#latest;
    const metadata = { uid, annotations: { [name]: value } };
    try {
      this.#latest = await this.#context.client.mergePatch(this.#kind, refOf(this.#latest), { metadata });
      return this.#latest;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /**
   * Reads the object and the named Secrets from the API server. Resolves with `undefined` if the object was
   * deleted, recreated, or has a newer spec.
   */
  async readUncached(secretNames: Iterable<string>): Promise<Fresh<T> | undefined> {
    const { client } = this.#context;
    const { namespace, generation } = this.#latest.metadata;
    const object = await findSame(client, this.#kind, this.#latest);
    if (!object || object.metadata.generation !== generation || object.metadata.deletionTimestamp)
      return undefined;
    const reads = [...new Set(secretNames)].map((name) => find(client, Secret, { namespace, name }));
    const secrets = (await Promise.all(reads)).filter((secret) => secret !== undefined);
    this.#latest = object;
    return { object, secrets };
  }
}
