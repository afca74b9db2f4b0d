import type { RunContext } from "../controller/controller.ts";
import { mergePatchBetween, type StatusWrite, type WithStatus, writeStatus } from "../controller/status.ts";
import type { Changes } from "../controller/steps.ts";
import type { Kind, Stored } from "../object.ts";

/** The API server stored only a part of a status: its CRD does not define all fields. */
export class SchemaOutdatedError extends Error {
  override readonly name = "SchemaOutdatedError";

  constructor({ kind }: Kind) {
    super(
      `The CustomResourceDefinition of ${kind} is older than the operator and drops required status fields; install the CRDs of this release.`,
    );
  }
}

/**
 * Records essential state in the status during a run. `changes` may be called again with a newer status,
 * unless the write is `exact`. Resolves with `undefined` if the spec has changed or the object is being
 * deleted, so that nothing was written: the run must end.
 */
export async function checkpoint<T extends WithStatus<S>, S extends object>(
  { kind, object, exact = false }: Pick<StatusWrite<T, S>, "kind" | "object" | "exact">,
  changes: (current: Partial<S>) => Changes<S>,
  { client }: Pick<RunContext, "client">,
): Promise<Stored<T> | undefined> {
  const update = (current: Partial<S>) => ({ ...current, ...changes(current) }) as Partial<S>;
  const written = await writeStatus<T, S>(client, { kind, object, update, exact });
  const status: Partial<S> = written.status ?? {};
  const isWritten = Object.keys(mergePatchBetween(status, update(status))).length === 0;
  if (isWritten) return written;
  const isStored = written.metadata.resourceVersion !== object.metadata.resourceVersion;
  if (isStored && written.metadata.generation === object.metadata.generation)
    throw new SchemaOutdatedError(kind);
  return undefined;
}
