import type { PodSettings } from "./settings.ts";

/** A Secret or ConfigMap that pods read when they start. */
export interface PodReference {
  readonly kind: "Secret" | "ConfigMap";
  readonly name: string;
  /** Pods can start without it. */
  readonly optional: boolean;
}

interface Named {
  readonly name?: string | undefined;
  readonly optional?: boolean;
}

/** The distinct objects in the spec that pods read: certificates, environment variables and volumes. */
export function podReferences(pod: PodSettings): PodReference[] {
  const containers = [{ env: pod.extraEnv, envFrom: pod.envFrom }, ...pod.initContainers];
  const all = [
    ...pod.tlsSecretNames.flatMap((name) => references({ name })),
    ...pod.authorities.flatMap(({ name }) => references({ name })),
    ...containers.flatMap(({ env = [], envFrom = [] }) => [
      ...env.flatMap(({ valueFrom }) => references(valueFrom?.secretKeyRef, valueFrom?.configMapKeyRef)),
      ...envFrom.flatMap(({ secretRef, configMapRef }) => references(secretRef, configMapRef)),
    ]),
    ...pod.volumes.flatMap(ofVolume),
  ];
  const byName = new Map<string, PodReference>();
  for (const reference of all) {
    const key = `${reference.kind}/${reference.name}`;
    const optional = reference.optional && (byName.get(key)?.optional ?? true);
    byName.set(key, { ...reference, optional });
  }
  return [...byName.values()];
}

function ofVolume({ secret, configMap, projected }: PodSettings["volumes"][number]): PodReference[] {
  const parts = projected?.sources ?? [];
  return [
    ...references(secret && { ...secret, name: secret.secretName }, configMap),
    ...parts.flatMap((part) => references(part.secret, part.configMap)),
  ];
}

/** References to the given objects, if set. */
function references(secret?: Named, configMap?: Named): PodReference[] {
  return [...reference("Secret", secret), ...reference("ConfigMap", configMap)];
}

function reference(kind: PodReference["kind"], { name, optional = false }: Named = {}): PodReference[] {
  return name ? [{ kind, name, optional }] : [];
}
