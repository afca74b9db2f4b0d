import type { EnvFromSource, EnvVar } from "./env.ts";
import type { PodSettings } from "./settings.ts";

/** A Secret or ConfigMap that pods read when they start. */
export interface PodReference {
  readonly kind: "Secret" | "ConfigMap";
  readonly name: string;
  /** Pods start without it, too. */
  readonly optional: boolean;
}

interface Named {
  readonly name?: string | undefined;
  readonly optional?: boolean;
}

/** Everything that the spec has pods read: certificates, environment and volumes, each once. */
export function podReferences(pod: PodSettings): PodReference[] {
  const containers = [{ env: pod.extraEnv, envFrom: pod.envFrom }, ...pod.initContainers];
  const all = [
    ...[...pod.tlsSecretNames, ...pod.authorities.map(({ name }) => name)].flatMap((name) =>
      secret({ name }),
    ),
    ...containers.flatMap(({ env = [], envFrom = [] }) => [
      ...env.flatMap(ofVariable),
      ...envFrom.flatMap(ofSource),
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

function ofVariable({ valueFrom }: EnvVar): PodReference[] {
  return [...secret(valueFrom?.secretKeyRef), ...configMap(valueFrom?.configMapKeyRef)];
}

function ofSource({ secretRef, configMapRef }: EnvFromSource): PodReference[] {
  return [...secret(secretRef), ...configMap(configMapRef)];
}

type Volume = PodSettings["volumes"][number];

function ofVolume({ secret: whole, configMap: settings, projected }: Volume): PodReference[] {
  const parts = projected?.sources ?? [];
  return [
    ...secret(whole && { ...whole, name: whole.secretName }),
    ...configMap(settings),
    ...parts.flatMap((part) => [...secret(part.secret), ...configMap(part.configMap)]),
  ];
}

function secret(named: Named | undefined): PodReference[] {
  return named?.name ? [{ kind: "Secret", name: named.name, optional: named.optional ?? false }] : [];
}

function configMap(named: Named | undefined): PodReference[] {
  return named?.name ? [{ kind: "ConfigMap", name: named.name, optional: named.optional ?? false }] : [];
}
