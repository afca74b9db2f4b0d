import type { V1EnvFromSource, V1EnvVarSource } from "@kubernetes/client-node";
import type { Pod, Stored, Wire } from "kube-controller-runtime";
import type { Container } from "./pod.ts";

export type Environment = Readonly<Record<string, string>>;

/** The content of a Secret or ConfigMap as text; `undefined` if it does not exist. */
export type Sources = (
  kind: "Secret" | "ConfigMap",
  ref: { readonly namespace: string; readonly name: string },
) => Promise<Environment | undefined>;

/** The container can't be created yet. A kubelet reports that in the pod's status and retries. */
export class MissingSourceError extends Error {
  override readonly name = "MissingSourceError";
}

/** The pod as its node sees it. */
export interface NodeView {
  readonly pod: Stored<Pod>;
  readonly podIP: string;
  readonly sources: Sources;
}

/**
 * The variables of a container, evaluated like the kubelet: `envFrom` first, later sources over earlier ones,
 * then `env` over both, in order, so that `$(NAME)` refers to preceding variables.
 */
export async function resolveEnvironment(container: Container, view: NodeView): Promise<Environment> {
  const env: Record<string, string> = {};
  for (const source of container.envFrom ?? []) Object.assign(env, await wholeSource(source, view));
  for (const { name, value, valueFrom } of container.env ?? []) {
    const resolved = valueFrom ? await oneValue(valueFrom, view) : expand(value ?? "", env);
    if (resolved !== undefined) env[name] = resolved;
  }
  return env;
}

const REFERENCE = /\$\$|\$\(([^)]+)\)/g;

/** Expands `$(NAME)`; unknown names stay unchanged, and `$$` is a dollar sign. */
export function expand(text: string, env: Environment): string {
  return text.replace(REFERENCE, (match, name: string | undefined) =>
    name === undefined ? "$" : (env[name] ?? match),
  );
}

async function wholeSource(
  { prefix = "", secretRef, configMapRef }: Wire<V1EnvFromSource>,
  view: NodeView,
): Promise<Environment> {
  const ref = secretRef ?? configMapRef;
  const data = await read(secretRef ? "Secret" : "ConfigMap", ref, view);
  return Object.fromEntries(Object.entries(data ?? {}).map(([key, value]) => [`${prefix}${key}`, value]));
}

async function oneValue(source: Wire<V1EnvVarSource>, view: NodeView): Promise<string | undefined> {
  const { secretKeyRef, configMapKeyRef, fieldRef } = source;
  if (fieldRef) return fieldValue(fieldRef.fieldPath, view);
  const kind = secretKeyRef ? "Secret" : "ConfigMap";
  const ref = secretKeyRef ?? configMapKeyRef;
  if (!ref) throw new MissingSourceError("the pod runner knows no such source of a variable");
  const data = await read(kind, ref, view);
  const value = data?.[ref.key];
  if (value === undefined && !ref.optional) {
    throw new MissingSourceError(`${kind} "${ref.name}" has no key "${ref.key}"`);
  }
  return value;
}

async function read(
  kind: "Secret" | "ConfigMap",
  ref: { name?: string; optional?: boolean } | undefined,
  { pod, sources }: NodeView,
): Promise<Environment | undefined> {
  const name = ref?.name ?? "";
  const data = await sources(kind, { namespace: pod.metadata.namespace ?? "", name });
  if (!data && !ref?.optional) throw new MissingSourceError(`${kind} "${name}" does not exist`);
  return data;
}

const KEYED_FIELD = /^metadata\.(labels|annotations)\['([^']+)'\]$/;

/** The part of the downward API that pods use here. */
function fieldValue(path: string, { pod, podIP }: NodeView): string {
  const { name, namespace = "", uid, labels, annotations } = pod.metadata;
  const plain: Environment = {
    "metadata.name": name,
    "metadata.namespace": namespace,
    "metadata.uid": uid,
    "spec.nodeName": pod.spec?.nodeName ?? "",
    "spec.serviceAccountName": pod.spec?.serviceAccountName ?? "",
    "status.hostIP": podIP,
    "status.podIP": podIP,
  };
  const [, list, key = ""] = KEYED_FIELD.exec(path) ?? [];
  const value = list ? ((list === "labels" ? labels : annotations)?.[key] ?? "") : plain[path];
  if (value === undefined) throw new MissingSourceError(`the pod runner does not know the field ${path}`);
  return value;
}
