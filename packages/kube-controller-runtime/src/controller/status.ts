import { isDeepStrictEqual } from "node:util";
import type { Client } from "../client/client.ts";
import { isConflict, isNotFound } from "../client/error.ts";
import { findSame } from "../client/find.ts";
import { type Condition, setCondition } from "../conditions.ts";
import { isRecord, type Kind, type KubeObject, refOf, type Stored } from "../object.ts";

/** An object with a status subresource. */
export interface WithStatus<S extends object> extends KubeObject {
  status?: S;
}

/** A status update. */
export interface StatusWrite<T extends WithStatus<S>, S extends object> {
  readonly kind: Kind<T>;
  readonly object: Stored<T>;
  /** Merges this run's results into a status. Pure: it may be called again with a newer status. */
  readonly update: (current: Partial<S>) => Partial<S>;
  /** Rejects with the conflict if `object` is not current, instead of retrying with a newer version. */
  readonly exact?: boolean;
}

const MAX_TRIES = 5;

/**
 * Writes only what `update` changes; makes no request if nothing changes. On a conflict the object is read
 * from the server and `update` is called again. If the spec has changed or the object is being deleted,
 * nothing is written: a newer run will do it.
 */
export async function writeStatus<T extends WithStatus<S>, S extends object>(
  client: Client,
  write: StatusWrite<T, S>,
): Promise<Stored<T>> {
  let { object } = write;
  for (let attempt = 1; ; attempt++) {
    const current: Partial<S> = object.status ?? {};
    const status = mergePatchBetween(current, asStored(write.update(current)));
    if (Object.keys(status).length === 0) return object;
    const { resourceVersion } = object.metadata;
    try {
      return await client.patchStatus(write.kind, refOf(object), { metadata: { resourceVersion }, status });
    } catch (error) {
      // If the object exists, its kind has no status subresource.
      if (isNotFound(error) && !(await findSame(client, write.kind, write.object))) return write.object;
      if (!isConflict(error) || write.exact || attempt === MAX_TRIES) throw error;
    }
    const fresh = await findSame(client, write.kind, object);
    if (!fresh || fresh.metadata.generation !== write.object.metadata.generation) return object;
    object = fresh;
  }
}

/** A status with conditions. */
export interface WithConditions {
  conditions?: Condition[];
}

/** Writes one condition, merged over the status and over `first`. */
export function writeCondition<T extends WithStatus<WithConditions>>(
  client: Client,
  { first, ...write }: Pick<StatusWrite<T, WithConditions>, "kind" | "object"> & { first?: object },
  { type, ...state }: { readonly type: string } & Parameters<typeof setCondition>[2],
): Promise<Stored<T>> {
  const update = (status: WithConditions): WithConditions => ({
    ...first,
    ...status,
    conditions: [...setCondition(status.conditions ?? [], type, state)],
  });
  return writeStatus<T, WithConditions>(client, { ...write, update });
}

/** The status as the server stores it: without fields that are `undefined`, at any depth. */
function asStored<S extends object>(status: Partial<S>): Partial<S> {
  return JSON.parse(JSON.stringify(status)) as Partial<S>;
}

/** The JSON merge patch that turns `before` into `after`; empty if they are equal. */
export function mergePatchBetween(before: object, after: object): Record<string, unknown> {
  const from = before as Record<string, unknown>;
  const to = after as Record<string, unknown>;
  const patch: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const [old, next] = [from[name], to[name]];
    if (isDeepStrictEqual(old, next)) continue;
    patch[name] = isRecord(old) && isRecord(next) ? mergePatchBetween(old, next) : (next ?? null);
  }
  return patch;
}
