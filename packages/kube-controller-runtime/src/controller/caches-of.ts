import type { CacheEnvironment, CacheOptions } from "../cache/cache.ts";
import { Caches, cacheName } from "../cache/caches.ts";
import { type Kind, type KubeObject, resourceName } from "../object.ts";
import type { Controller } from "./controller.ts";

type Options = CacheOptions<KubeObject>;

/**
 * Creates one cache per kind, or per selection of a kind, that satisfies all controllers. Throws if their
 * options conflict, or if an index name has different meanings.
 */
export function cachesOf(controllers: readonly Controller[], environment: CacheEnvironment): Caches {
  const merged = new Map<string, { kind: Kind; options: Options | undefined }>();
  for (const { kind, cache } of controllers.flatMap(({ sources }) => sources)) {
    const present = merged.get(cacheName(kind))?.options;
    const options = present && cache ? merge(kind, present, cache) : (present ?? cache);
    merged.set(cacheName(kind), { kind, options });
  }
  const caches = new Caches(environment);
  for (const { kind, options } of merged.values()) caches.define(kind, options);
  return caches;
}

function merge(kind: Kind, left: Options, right: Options): Options {
  const shared = [
    "labelSelector",
    "fieldSelector",
    "metadataOnly",
    "transform",
    "optional",
    "mayBeForbidden",
  ] as const;
  const differing = shared.find((field) => left[field] !== right[field]);
  if (differing)
    throw new TypeError(
      `two controllers watch ${resourceName(kind)} with a different ${differing}; use \`select\` to give one its own cache`,
    );
  const clash = Object.entries(left.indexes ?? {}).find(
    ([name, values]) => values !== (right.indexes?.[name] ?? values),
  );
  if (clash)
    throw new TypeError(
      `two controllers index ${resourceName(kind)} by different functions as "${clash[0]}"`,
    );
  return { ...left, indexes: { ...left.indexes, ...right.indexes } };
}
