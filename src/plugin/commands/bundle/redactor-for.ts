import { ConfigMap, type KubeObject, Pod, Secret, type Stored } from "kube-controller-runtime";
import type { Cluster } from "../../cluster.ts";
import type { Context } from "../../command.ts";
import type { Gaps } from "../../gaps.ts";
import { OUR_CHILDREN, OUR_KINDS } from "../../objects.ts";
import { ObjectRedactor } from "./object-redactor.ts";
import { valuesOf } from "./values.ts";
import { plainValuesOf } from "./variables.ts";

/** Objects that contain secret values in plain text. */
export interface SecretSources {
  readonly objects: readonly Stored<KubeObject>[];
  readonly secrets: readonly Stored<Secret>[];
  readonly configMaps: readonly Stored<ConfigMap>[];
}

/**
 * The redactor for all output of the plugin: it knows every value of the sources, and the user's own token.
 */
export function redactorOf(
  sources: SecretSources,
  env: Context["env"],
  gaps: Pick<Gaps, "add">,
): ObjectRedactor {
  const { secrets, objects, configMaps } = sources;
  const { CODER_SESSION_TOKEN: token = "" } = env;
  return new ObjectRedactor([...valuesOf(secrets, gaps), ...plainValuesOf(objects, configMaps), token]);
}

/**
 * Reads the secrets that a redactor must know for a namespace, or for all namespaces that contain custom
 * resources of the operator. `isWhole` is false if the user may not list Secrets in one of them: text that
 * programs wrote may then contain values that the redactor does not recognize.
 */
export async function redactorFor(
  cluster: Cluster,
  env: Context["env"],
  gaps: Gaps,
): Promise<{ readonly redactor: ObjectRedactor; readonly isWhole: boolean }> {
  const { client, namespace } = cluster;
  const lists = await Promise.all([
    ...OUR_KINDS.map(({ kind }) => gaps.list(client, kind, { namespace })),
    gaps.list(client, Pod, { namespace, ...OUR_CHILDREN }),
  ]);
  const objects = lists.flatMap((list): readonly Stored<KubeObject>[] => list ?? []);
  const namespaces =
    namespace === undefined ? objects.map(({ metadata }) => metadata.namespace) : [namespace];
  const [configMaps, ...secrets] = await Promise.all([
    configMapsOf(objects, cluster, gaps),
    ...new Set(namespaces).values().map((each) => gaps.list(client, Secret, { namespace: each })),
  ]);
  const sources = { objects, configMaps, secrets: secrets.flatMap((list) => list ?? []) };
  return { redactor: redactorOf(sources, env, gaps), isWhole: !secrets.includes(undefined) };
}

/** The ConfigMaps that objects use for variables and files. */
export async function configMapsOf(
  objects: readonly Stored<KubeObject>[],
  { client }: Pick<Cluster, "client">,
  gaps: Gaps,
): Promise<Stored<ConfigMap>[]> {
  const refs = objects.flatMap(({ metadata: { namespace }, ...object }) =>
    configMapNamesIn(object).map((name) => ({ namespace, name })),
  );
  return [...(await gaps.named(client, ConfigMap, refs)).values()];
}

function configMapNamesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, below]) => {
    const name = /^configMap(Ref|KeyRef)?$/.test(key) && (below as { name?: unknown } | null)?.name;
    return typeof name === "string" ? [name] : configMapNamesIn(below);
  });
}
