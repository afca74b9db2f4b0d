import {
  type Caches,
  ConfigMap,
  type Kind,
  type KubeObject,
  keyOf,
  type ObjectRef,
  type RunContext,
  Secret,
  type Stored,
} from "kube-controller-runtime";
import type { SecretKey } from "./normalize.ts";
import { readSecretValue } from "./secret-value.ts";

/**
 * Secrets and ConfigMaps of one namespace, read by `observe`. Accessing an object that could not be read
 * throws the error, so that only the steps that need it fail.
 */
export interface Sources {
  secret(name: string): Secret | undefined;
  configMap(name: string): ConfigMap | undefined;
}

/**
 * Objects to read. The caches do not contain long values, so they are used only for tokens, which are short.
 */
export interface SourceNames {
  /** Secrets with tokens. If the operator created them, they are in the cache of children. */
  readonly tokens?: Iterable<string>;
  readonly secrets: Iterable<string>;
  readonly configMaps?: Iterable<string>;
}

/** Reads the named objects. In steady state, this needs no request. */
export async function gatherSources(
  namespace: string,
  names: SourceNames,
  context: Pick<RunContext, "caches" | "referenced">,
): Promise<Sources> {
  const own = (name: string) => context.caches.of(Secret).get(keyOf({ namespace, name }));
  const read = <T extends KubeObject>(kind: Kind<T>) => {
    return (name: string) => context.referenced(kind).get({ namespace, name });
  };
  const [token, secret, configMap] = await Promise.all([
    gather(names.tokens ?? [], async (name) => own(name) ?? (await read(Secret)(name))),
    gather(names.secrets, read(Secret)),
    gather(names.configMaps ?? [], read(ConfigMap)),
  ]);
  return { secret: (name) => secret(name) ?? token(name), configMap };
}

async function gather<T>(names: Iterable<string>, read: (name: string) => Promise<T | undefined>) {
  const distinct = [...new Set(names)];
  const results = await Promise.allSettled(distinct.map(read));
  const found = new Map(distinct.map((name, index) => [name, results[index]]));
  return (name: string): T | undefined => {
    const result = found.get(name);
    if (result?.status === "rejected") throw result.reason;
    return result?.value;
  };
}

/** Trimmed text of a key of a Secret, or undefined if it is blank. */
export function secretText(sources: Sources, { name, key }: SecretKey): string | undefined {
  return readSecretValue(sources.secret(name), key)?.trim() || undefined;
}

/** For `refersTo`: references to the Secrets and ConfigMaps that `namesOf` returns. */
export function referencesTo<T extends KubeObject>(
  namesOf: (object: Stored<T>, caches: Caches) => SourceNames,
) {
  const refs = ({ metadata: { namespace } }: Stored<T>, names: Iterable<string> = []): ObjectRef[] =>
    [...names].map((name) => ({ namespace, name }));
  return {
    secrets: (object: Stored<T>, caches: Caches): ObjectRef[] => {
      const { tokens, secrets } = namesOf(object, caches);
      const unmade = refs(object, tokens).filter((ref) => !caches.of(Secret).get(keyOf(ref)));
      return [...unmade, ...refs(object, secrets)];
    },
    configMaps: (object: Stored<T>, caches: Caches): ObjectRef[] =>
      refs(object, namesOf(object, caches).configMaps),
  };
}
