import { isDeepStrictEqual } from "node:util";
import type { CoderFailure } from "../../coder/failure.ts";
import type { Mapping } from "../../coder/inside/sign-on.ts";
import { type Result, succeeded } from "../../coder/result.ts";
import { defined } from "../normalize.ts";
import { type Collection, type Inside, MISSING_RETRY_MS, type Obstacle } from "./coderd.ts";
import type { Setting } from "./kind.ts";
import { quotedNames } from "./quoted-names.ts";

/** Fields of every sign-on setting. */
interface Sync {
  readonly field: string;
  readonly mapping: Mapping;
}

/** Targets of a mapping. */
interface Names<T extends { readonly name: string }> {
  readonly noun: string;
  /** The reason of the condition when some do not exist. */
  readonly missing: string;
  readonly collection: Collection<readonly T[]>;
  /** The value that coderd stores instead of the name. */
  readonly target: (entity: T) => string;
}

/** A setting of sign-on as a spec has it: by names, and with gaps. */
export interface SignOnSpec<S extends Sync, T extends { readonly name: string }> {
  readonly field: string;
  readonly feature: string;
  readonly collection: Collection<S>;
  /** What is `undefined` is not managed. */
  readonly wanted: { readonly [Field in keyof Omit<S, "mapping">]?: S[Field] | undefined };
  readonly mapping: Readonly<Record<string, readonly string[]>> | undefined;
  readonly names: Names<T>;
  readonly write: (sync: S) => Promise<Result<void, CoderFailure>>;
}

/** The setting: coderd replaces all of it, so what the spec leaves out is sent as it is. */
export function signOnSetting<S extends Sync, T extends { readonly name: string }>(
  spec: SignOnSpec<S, T>,
  inside: Inside,
): Setting {
  // Once: what is read back after a change is compared with what was written, also if a name exists by then.
  let resolving: ReturnType<typeof resolveMapping> | undefined;
  const compare: Setting["compare"] = async (maxAgeMs) => {
    const present = await inside.read(spec.collection, maxAgeMs);
    if (!present.ok) return present;
    resolving ??= resolveMapping(spec, inside);
    const mapped = await resolving;
    if (!mapped.ok) return mapped;
    const { mapping, partly } = mapped.value;
    const wanted: S = { ...present.value, ...defined({ ...spec.wanted, mapping }) };
    const change = isDeepStrictEqual(present.value, wanted) ? {} : { change: () => spec.write(wanted) };
    return succeeded({ ...change, ...defined({ partly }) });
  };
  return { field: spec.field, feature: spec.feature, compare };
}

/** The mapping with ids in place of names. A name that does not exist yet is left out until it does. */
async function resolveMapping<S extends Sync, T extends { readonly name: string }>(
  { field, mapping, names }: SignOnSpec<S, T>,
  inside: Inside,
): Promise<Result<{ readonly mapping?: Mapping; readonly partly?: Obstacle }, Obstacle>> {
  if (!mapping) return succeeded({});
  const listed = await inside.read(names.collection);
  if (!listed.ok) return listed;
  const targets = new Map(listed.value.map((entity) => [entity.name.toLowerCase(), names.target(entity)]));
  const entries = Object.entries(mapping).map(([value, wanted]) => {
    const found = wanted.flatMap((name) => targets.get(name.toLowerCase()) ?? []);
    return [value, [...new Set(found)].sort()] as const;
  });
  const missing = [...new Set(Object.values(mapping).flat())].filter(
    (name) => !targets.has(name.toLowerCase()),
  );
  const resolved = { mapping: Object.fromEntries(entries) };
  if (missing.length === 0) return succeeded(resolved);
  const message = `spec.${field}.mapping names what coderd does not have: ${names.noun} ${quotedNames(missing)}; create it or correct the mapping. The rest of the mapping is in force.`;
  return succeeded({ ...resolved, partly: { reason: names.missing, message, retryInMs: MISSING_RETRY_MS } });
}
