import type { V1Container, V1PodSpec } from "@kubernetes/client-node";
import type { PodFields } from "../../api/v1alpha1/pod.ts";
import type { Deployment } from "../../runtime/kinds.ts";
import type { ObjectMeta, Wire } from "../../runtime/object.ts";
import { type Authority, type PodParts, servedTls, trustedAuthorities } from "./certificates.ts";
import { type EnvVar, mergeEnv } from "./env.ts";
import type { Labels } from "./names.ts";
import { defined, distinctBy, unlessEmpty } from "./normalise.ts";
import { httpProbe, type ProbeSettings, type ProbeTarget } from "./probes.ts";

type Container = Wire<V1Container>;
type PodSpec = Wire<V1PodSpec>;

type ListsOf<T> = { readonly [Key in keyof T]-?: NonNullable<T[Key]> };

/** The fields that the pods of all kinds share: lists are there, if empty; the rest may be absent. */
export type PodSettings = Omit<PodFields, ListField> & ListsOf<Pick<PodFields, ListField>>;
type ListField =
  | "envFrom"
  | "extraArgs"
  | "extraEnv"
  | "imagePullSecrets"
  | "tolerations"
  | "topologySpreadConstraints"
  | "volumeMounts"
  | "volumes";

export function podSettings(spec: PodFields): PodSettings {
  const { affinity, nodeSelector, podSecurityContext, resources, securityContext } = spec;
  const pullSecrets = (spec.imagePullSecrets ?? []).filter(({ name }) => name);
  return {
    ...defined({ affinity, nodeSelector, podSecurityContext, resources, securityContext }),
    envFrom: spec.envFrom ?? [],
    extraArgs: spec.extraArgs ?? [],
    extraEnv: spec.extraEnv ?? [],
    imagePullSecrets: distinctBy(pullSecrets, ({ name }) => name ?? ""),
    tolerations: spec.tolerations ?? [],
    topologySpreadConstraints: spec.topologySpreadConstraints ?? [],
    volumeMounts: spec.volumeMounts ?? [],
    volumes: spec.volumes ?? [],
  };
}

/** One of our three programs as a Deployment: what is its own, and what the user says about its pods. */
export interface Workload {
  readonly metadata: ObjectMeta;
  /** Labels of the pods and, all of them, the selector. */
  readonly labels: Labels;
  readonly podAnnotations?: Labels | undefined;
  readonly replicas: number;
  readonly serviceAccountName?: string | undefined;
  readonly terminationGracePeriodSeconds?: number | undefined;
  readonly containerName: string;
  readonly image: string;
  /** Absent runs the image's own entrypoint. */
  readonly command?: readonly string[] | undefined;
  /** Our arguments; the user's follow. */
  readonly args: readonly string[];
  /** Our variables; the user's follow. */
  readonly env: readonly EnvVar[];
  readonly ports: PodParts["ports"];
  readonly probes: Probes;
  readonly tlsSecretNames: readonly string[];
  readonly authorities: readonly Authority[];
  readonly pod: PodSettings;
}

export interface Probes {
  readonly target: ProbeTarget;
  readonly readiness: ProbeSettings | undefined;
  readonly liveness: ProbeSettings | undefined;
}

/** The rollout strategy is left to Kubernetes and to whoever patches it. */
export function deployment(workload: Workload): Deployment {
  const { labels, metadata, podAnnotations, replicas } = workload;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata,
    spec: {
      replicas,
      selector: { matchLabels: { ...labels } },
      template: {
        metadata: defined({ labels: { ...labels }, annotations: podAnnotations && { ...podAnnotations } }),
        spec: podSpec(workload),
      },
    },
  };
}

function podSpec(workload: Workload): PodSpec {
  const { pod, tlsSecretNames, authorities } = workload;
  const tls = servedTls(tlsSecretNames);
  const trusted = trustedAuthorities(authorities);
  const volumes = [...tls.volumes, ...trusted.volumes];
  return defined({
    serviceAccountName: workload.serviceAccountName,
    terminationGracePeriodSeconds: workload.terminationGracePeriodSeconds,
    imagePullSecrets: unlessEmpty(pod.imagePullSecrets),
    securityContext: pod.podSecurityContext,
    nodeSelector: pod.nodeSelector,
    tolerations: unlessEmpty(pod.tolerations),
    affinity: pod.affinity,
    topologySpreadConstraints: unlessEmpty(pod.topologySpreadConstraints),
    containers: [
      container(workload, { ...tls, volumeMounts: [...tls.volumeMounts, ...trusted.volumeMounts] }),
    ],
    volumes: unlessEmpty(overridden(volumes, pod.volumes, ({ name }) => name)),
  });
}

function container(workload: Workload, parts: Omit<PodParts, "volumes">): Container {
  const { pod, probes } = workload;
  const { readiness, liveness, target } = probes;
  return defined({
    name: workload.containerName,
    image: workload.image,
    command: workload.command && [...workload.command],
    args: [...workload.args, ...pod.extraArgs],
    env: unlessEmpty(mergeEnv([...workload.env, ...parts.env], pod.extraEnv)),
    envFrom: unlessEmpty(pod.envFrom),
    ports: unlessEmpty([...workload.ports, ...parts.ports]),
    readinessProbe: readiness && httpProbe(readiness, target),
    livenessProbe: liveness && httpProbe(liveness, target),
    resources: pod.resources,
    securityContext: pod.securityContext,
    volumeMounts: unlessEmpty(overridden(parts.volumeMounts, pod.volumeMounts, ({ mountPath }) => mountPath)),
  });
}

/** Ours, then the user's; ours gives way where the user has one of the same key. */
function overridden<T>(ours: readonly T[], users: readonly T[], keyOf: (entry: T) => string): T[] {
  const taken = new Set(users.map(keyOf));
  return [...ours.filter((entry) => !taken.has(keyOf(entry))), ...users];
}
