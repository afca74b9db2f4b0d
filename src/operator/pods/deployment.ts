import type { V1Container, V1PodSpec } from "@kubernetes/client-node";
import type { Deployment, Wire } from "kube-controller-runtime";
import { childMetadata, commonLabels, type Labels, type Parent } from "../names.ts";
import { defined, unlessEmpty } from "../normalise.ts";
import { type ContainerPort, type PodParts, servedTls, trustedAuthorities } from "./certificates.ts";
import { type EnvVar, mergeEnv } from "./env.ts";
import { httpProbe, type ProbeTarget } from "./probes.ts";
import type { PodSettings } from "./settings.ts";

/** One of our three programs as a Deployment: what is its own, and what the user says about its pods. */
export interface Workload {
  readonly parent: Parent;
  readonly name: string;
  readonly replicas: number;
  readonly podAnnotations?: Labels;
  readonly serviceAccountName?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly program: Program;
  readonly pod: PodSettings;
}

/** The one container of a workload; what the user adds to it follows our own. */
interface Program {
  readonly name: string;
  readonly image: string;
  /** Absent runs the image's own entrypoint. */
  readonly command?: readonly string[];
  readonly args: readonly string[];
  readonly env: readonly EnvVar[];
  readonly ports: readonly ContainerPort[];
  /** Where its probes ask, if they are on. */
  readonly health: ProbeTarget;
}

/** The rollout strategy is left to Kubernetes and to whoever sets one by hand. */
export function deployment(workload: Workload): Deployment {
  const { name, parent, podAnnotations, replicas } = workload;
  const labels = commonLabels(parent);
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: childMetadata(parent, name),
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: defined({ labels, annotations: podAnnotations && { ...podAnnotations } }),
        spec: podSpec(workload),
      },
    },
  };
}

function podSpec(workload: Workload): Wire<V1PodSpec> {
  const { pod, program, serviceAccountName, terminationGracePeriodSeconds } = workload;
  const tls = servedTls(pod.tlsSecretNames);
  const trusted = trustedAuthorities(pod.authorities);
  const volumes = [...tls.volumes, ...trusted.volumes];
  const volumeMounts = [...tls.volumeMounts, ...trusted.volumeMounts];
  return defined({
    serviceAccountName,
    terminationGracePeriodSeconds,
    imagePullSecrets: unlessEmpty(pod.imagePullSecrets),
    securityContext: pod.podSecurityContext,
    nodeSelector: pod.nodeSelector,
    tolerations: unlessEmpty(pod.tolerations),
    affinity: pod.affinity,
    topologySpreadConstraints: unlessEmpty(pod.topologySpreadConstraints),
    containers: [container(program, pod, { ...tls, volumeMounts })],
    volumes: unlessEmpty(overridden(volumes, pod.volumes, ({ name }) => name)),
  });
}

function container(
  program: Program,
  pod: PodSettings,
  certificates: Pick<PodParts, "env" | "ports" | "volumeMounts">,
): Wire<V1Container> {
  const { readinessProbe, livenessProbe } = pod;
  return defined({
    name: program.name,
    image: program.image,
    command: program.command && [...program.command],
    args: [...program.args, ...pod.extraArgs],
    env: mergeEnv([...program.env, ...certificates.env], pod.extraEnv),
    envFrom: unlessEmpty(pod.envFrom),
    ports: unlessEmpty([...program.ports, ...certificates.ports]),
    readinessProbe: readinessProbe && httpProbe(readinessProbe, program.health),
    livenessProbe: livenessProbe && httpProbe(livenessProbe, program.health),
    resources: pod.resources,
    securityContext: pod.securityContext,
    volumeMounts: unlessEmpty(
      overridden(certificates.volumeMounts, pod.volumeMounts, ({ mountPath }) => mountPath),
    ),
  });
}

/** Ours, then the user's; ours gives way where the user has one of the same key. */
function overridden<T>(ours: readonly T[], users: readonly T[], keyOf: (entry: T) => string): T[] {
  const taken = new Set(users.map(keyOf));
  return [...ours.filter((entry) => !taken.has(keyOf(entry))), ...users];
}
