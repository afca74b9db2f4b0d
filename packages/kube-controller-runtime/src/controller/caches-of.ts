import type { CacheEnvironment, CacheOptions } from "../cache/cache.ts";
import { Caches, cacheName } from "../cache/caches.ts";
import { type Kind, type KubeObject, resourceName } from "../object.ts";
import type { Controller } from "./controller.ts";

type Options = CacheOptions<KubeObject>;

/**
 * One cache per kind, or selection of a kind, with what all controllers together ask of it. Throws when they ask for different objects,
 * or mean different things by the name of an index.
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
      `two controllers watch ${resourceName(kind)} with a different ${differing}; give one a cache of its own by \`select\``,
    );
  const clash = Object.entries(left.indexes ?? {}).find(
    ([name, values]) => values !== (right.indexes?.[name] ?? values),
  );
  if (clash) throw new TypeError(`two controllers index ${resourceName(kind)} differently as "${clash[0]}"`);
  return { ...left, indexes: { ...left.indexes, ...right.indexes } };
}
