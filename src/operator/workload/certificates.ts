import type { V1ContainerPort, V1Volume, V1VolumeMount } from "@kubernetes/client-node";
import { fnv1a32, type Wire } from "kube-controller-runtime";
import type { CertsSpec } from "../../api/v1alpha1/pod.ts";
import { labelLength } from "../names.ts";
import { distinctBy, distinctNames, type SecretKey } from "../normalize.ts";
import type { EnvVar } from "./env.ts";

export type ContainerPort = Wire<V1ContainerPort>;
type Volume = Wire<V1Volume>;
type VolumeMount = Wire<V1VolumeMount>;

/** What a feature adds to a pod. */
export interface PodParts {
  readonly env: readonly EnvVar[];
  readonly ports: readonly ContainerPort[];
  readonly volumes: readonly Volume[];
  readonly volumeMounts: readonly VolumeMount[];
}

/** The distinct authorities of a spec. Entries without a name are ignored. */
export function authoritiesOf(certs: CertsSpec | undefined): SecretKey[] {
  const entries = (certs?.secrets ?? [])
    .map(({ name, key }) => ({ name: name.trim(), key: key.trim() }))
    .filter(({ name, key }) => name !== "" && key !== "");
  return distinctBy(entries, ({ name, key }) => `${name}/${key}`);
}

export const tlsPort: ContainerPort = { name: "https", containerPort: 8443, protocol: "TCP" };

/** Serves TLS on this address with the certificates in these Secrets. No Secrets means no TLS. */
export function servingTls(secretNames: readonly string[], listenOn = "0.0.0.0"): PodParts {
  if (secretNames.length === 0) return { env: [], ports: [], volumes: [], volumeMounts: [] };
  const mountPaths = secretNames.map((name) => `/etc/ssl/certs/coder/${name}`);
  return {
    env: [
      { name: "CODER_TLS_ENABLE", value: "true" },
      { name: "CODER_TLS_ADDRESS", value: `${listenOn}:${tlsPort.containerPort}` },
      { name: "CODER_TLS_CERT_FILE", value: mountPaths.map((path) => `${path}/tls.crt`).join(",") },
      { name: "CODER_TLS_KEY_FILE", value: mountPaths.map((path) => `${path}/tls.key`).join(",") },
    ],
    ports: [tlsPort],
    volumes: secretNames.map((name) => secretVolume("tls", name)),
    volumeMounts: secretNames.map((name) => ({
      name: volumeName("tls", name),
      mountPath: `/etc/ssl/certs/coder/${name}`,
      readOnly: true,
    })),
  };
}

/** Mounts certificate authorities where Go programs find them, one file each. */
export function trustedAuthorities(
  authorities: readonly SecretKey[],
): Pick<PodParts, "volumes" | "volumeMounts"> {
  const files = authorityFiles(authorities);
  return {
    volumes: distinctNames(authorities.map(({ name }) => name)).map((name) => secretVolume("ca-cert", name)),
    volumeMounts: authorities.map(({ name, key }, index) => ({
      name: volumeName("ca-cert", name),
      mountPath: `/etc/ssl/certs/${files[index]}.crt`,
      subPath: key,
      readOnly: true,
    })),
  };
}

/**
 * File names without `.crt`, in the order of the authorities: by Secret, and by key if a Secret has several.
 */
function authorityFiles(authorities: readonly SecretKey[]): string[] {
  const taken = new Set<string>();
  for (const { name, key } of authorities) {
    const alone = authorities.filter((other) => other.name === name).length === 1;
    const wanted = alone ? name : `${name}-${key.replace(/\.crt$/, "")}`;
    let file = wanted;
    for (let number = 2; taken.has(file); number++) file = `${wanted}-${number}`;
    taken.add(file);
  }
  return [...taken];
}

function secretVolume(prefix: string, secretName: string): Volume {
  return { name: volumeName(prefix, secretName), secret: { secretName } };
}

/** `prefix-secret` if it is a valid DNS label; otherwise a label derived from it with a hash of both. */
function volumeName(prefix: string, secretName: string): string {
  const sanitized = secretName.replaceAll(".", "-");
  const plain = `${prefix}-${sanitized}`;
  if (sanitized === secretName && plain.length <= labelLength) return plain;
  const hash = fnv1a32(`${prefix}\0${secretName}`);
  const room = labelLength - prefix.length - hash.length - 2;
  const cut = sanitized.length > room ? sanitized.slice(0, room).replace(/-+$/, "") : sanitized;
  return `${prefix}-${cut}-${hash}`;
}
