import type { V1Container, V1PodSpec } from "@kubernetes/client-node";
import type { Deployment, Wire } from "kube-controller-runtime";
import { childMetadata, commonLabels, type Labels, type Parent } from "../names.ts";
import { defined, unlessEmpty } from "../normalize.ts";
import { LOG_ON_ERROR } from "./additions.ts";
import { anyAddress } from "./address-family.ts";
import { type ContainerPort, type PodParts, servingTls, trustedAuthorities } from "./certificates.ts";
import { type EnvVar, mergeEnv } from "./env.ts";
import { type HostAlias, mergeAliases } from "./host-aliases.ts";
import { affinityOf, securityContextOf } from "./presets.ts";
import { httpProbe, type ProbeSettings, type ProbeTarget } from "./probes.ts";
import type { PodSettings } from "./settings.ts";

/** The Deployment of one of the three programs: its own properties and the pod settings of the user. */
export interface Workload {
  readonly parent: Parent;
  readonly name: string;
  readonly replicas: number;
  readonly podAnnotations?: Labels;
  readonly serviceAccountName?: string;
  readonly program: Program;
  readonly pod: PodSettings;
  /** Host names that pods resolve without DNS. */
  readonly hostAliases?: readonly HostAlias[];
  /** IP address of the Service, which determines the address family. */
  readonly clusterIP?: string | undefined;
}

/** The container of a workload. Settings of the user come after those of the operator. */
interface Program {
  readonly name: string;
  readonly image: string;
  /** Defaults to the image's entrypoint, which includes `subcommand`. */
  readonly command?: readonly string[];
  /** Subcommand of the `coder` program. */
  readonly subcommand: readonly string[];
  readonly args: readonly string[];
  readonly env: readonly EnvVar[];
  readonly ports: readonly ContainerPort[];
  /** Endpoint of the probes, if enabled. */
  readonly health: ProbeTarget;
  /** Delays the other probes until the program has started. */
  readonly startupProbe?: ProbeSettings | undefined;
  /** A pod condition that the operator sets before the pod counts as ready. */
  readonly readinessGate?: string;
}

/** If the spec does not set a rollout strategy, Kubernetes or other managers can set it. */
export function deployment(workload: Workload): Deployment {
  const { name, parent, pod, replicas } = workload;
  const labels = commonLabels(parent);
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: childMetadata(parent, name, pod.annotations),
    spec: {
      replicas,
      ...defined({ minReadySeconds: pod.minReadySeconds, strategy: pod.strategy }),
      selector: { matchLabels: labels },
      template: {
        metadata: defined({ labels: { ...pod.podLabels, ...labels }, annotations: podAnnotations(workload) }),
        spec: podSpec(workload, labels),
      },
    },
  };
}

/**
 * Annotations of the operator take precedence, because one of them replaces pods after a change of their key
 * or token.
 */
function podAnnotations({ pod, podAnnotations: ours }: Workload): Record<string, string> | undefined {
  return ours || pod.podAnnotations ? { ...pod.podAnnotations, ...ours } : undefined;
}

function podSpec(workload: Workload, labels: Labels): Wire<V1PodSpec> {
  const { pod, program, serviceAccountName } = workload;
  const tls = servingTls(pod.tlsSecretNames, anyAddress(workload.clusterIP));
  const trusted = trustedAuthorities(pod.authorities);
  const volumes = [...tls.volumes, ...trusted.volumes];
  const volumeMounts = [...tls.volumeMounts, ...trusted.volumeMounts];
  return defined({
    serviceAccountName,
    terminationGracePeriodSeconds: pod.terminationGracePeriodSeconds,
    priorityClassName: pod.priorityClassName,
    hostAliases: unlessEmpty(mergeAliases(workload.hostAliases ?? [], pod.hostAliases)),
    imagePullSecrets: unlessEmpty(pod.imagePullSecrets),
    securityContext: pod.podSecurityContext,
    nodeSelector: pod.nodeSelector,
    tolerations: unlessEmpty(pod.tolerations),
    affinity: affinityOf(pod, labels),
    topologySpreadConstraints: unlessEmpty(pod.topologySpreadConstraints),
    readinessGates: program.readinessGate ? [{ conditionType: program.readinessGate }] : undefined,
    initContainers: unlessEmpty(pod.initContainers),
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
    imagePullPolicy: pod.imagePullPolicy,
    ...commandLine(program, pod),
    env: mergeEnv([...program.env, ...certificates.env], pod.extraEnv),
    envFrom: unlessEmpty(pod.envFrom),
    ports: unlessEmpty([...program.ports, ...certificates.ports]),
    readinessProbe: readinessProbe && httpProbe(readinessProbe, program.health),
    livenessProbe: livenessProbe && httpProbe(livenessProbe, program.health),
    startupProbe: program.startupProbe && httpProbe(program.startupProbe, program.health),
    lifecycle: pod.lifecycle,
    resources: pod.resources,
    securityContext: securityContextOf(pod),
    terminationMessagePolicy: LOG_ON_ERROR,
    volumeMounts: unlessEmpty(
      overridden(certificates.volumeMounts, pod.volumeMounts, ({ mountPath }) => mountPath),
    ),
  });
}

/** A command in the spec is the path of the `coder` program and needs the subcommand. */
function commandLine({ command, subcommand, args }: Program, pod: PodSettings) {
  const chosen = unlessEmpty(pod.command) ?? command;
  const all = [...args, ...pod.extraArgs];
  return chosen ? { command: [...chosen], args: [...subcommand, ...all] } : { args: all };
}

/** Entries of the operator, followed by those of the user, which replace entries with the same key. */
function overridden<T>(ours: readonly T[], users: readonly T[], keyOf: (entry: T) => string): T[] {
  const taken = new Set(users.map(keyOf));
  return [...ours.filter((entry) => !taken.has(keyOf(entry))), ...users];
}
