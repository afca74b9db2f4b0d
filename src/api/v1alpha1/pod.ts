import type {
  V1Affinity,
  V1Container,
  V1EnvFromSource,
  V1EnvVar,
  V1HostAlias,
  V1Lifecycle,
  V1LocalObjectReference,
  V1PodSecurityContext,
  V1ResourceRequirements,
  V1SecurityContext,
  V1Toleration,
  V1TopologySpreadConstraint,
  V1Volume,
  V1VolumeMount,
} from "@kubernetes/client-node";
import type { Wire } from "kube-controller-runtime";
import { Type } from "typebox";
import { probeDefaults } from "./defaults.ts";
import { objectName, requiredSecretDataKey } from "./names.ts";
import {
  choice,
  flag,
  int32,
  int64,
  kube,
  kubeList,
  list,
  object,
  optional,
  rules,
  type Static,
  stringMap,
  text,
} from "./schema.ts";
import { addedAnnotations, addedLabels, workloadFields } from "./workload.ts";

const core = (name: string) => `io.k8s.api.core.v1.${name}`;

function one<T>(description: string, type: string) {
  return optional(kube<Wire<T>>(description, core(type)));
}

/**
 * `keys` are the fields that identify an entry, as in a pod. The API server then rejects duplicates in the
 * custom resource instead of in the pod.
 */
function listMap<T>(description: string, type: string, ...keys: readonly string[]) {
  const distinct = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys };
  return optional(kubeList<Wire<T>>(description, core(type), keys.length > 0 ? distinct : {}));
}

/** Pod fields of every kind. */
export const podFields = {
  ...workloadFields,
  affinity: one<V1Affinity>("Scheduling constraints of the pods.", "Affinity"),
  command: optional(
    list(
      "Path of the `coder` binary in the image. Defaults to `/opt/coder`. The operator sets the arguments; see extraArgs.",
      Type.String(),
    ),
  ),
  envFrom: listMap<V1EnvFromSource>(
    "Secrets and ConfigMaps to populate environment variables from.",
    "EnvFromSource",
  ),
  extraArgs: optional(list("Additional arguments, appended to those that the operator sets.", Type.String())),
  extraEnv: listMap<V1EnvVar>(
    "Additional environment variables. They override those that the operator sets.",
    "EnvVar",
  ),
  hostAliases: listMap<V1HostAlias>(
    "Entries for the hosts file of the pods. They override the entries that the operator sets.",
    "HostAlias",
    "ip",
  ),
  imagePullPolicy: optional(
    choice("Image pull policy. Defaults to Always if the tag is `latest`, otherwise IfNotPresent.", [
      "Always",
      "IfNotPresent",
      "Never",
    ]),
  ),
  imagePullSecrets: listMap<V1LocalObjectReference>(
    "Secrets in the same namespace with credentials for the image registry.",
    "LocalObjectReference",
  ),
  initContainers: listMap<V1Container>(
    "Init containers of the pods. Those with restartPolicy Always run as sidecar containers.",
    "Container",
    "name",
  ),
  lifecycle: one<V1Lifecycle>("Actions to take after the container starts and before it stops.", "Lifecycle"),
  nodeSelector: optional(stringMap("Labels that a node must have to run the pods.")),
  podAnnotations: optional(addedAnnotations("Annotations of the pods.")),
  podLabels: optional(addedLabels("Labels of the pods, in addition to those that the operator sets.")),
  podSecurityContext: one<V1PodSecurityContext>(
    "Security attributes of the pods, such as fsGroup and runAsNonRoot.",
    "PodSecurityContext",
  ),
  priorityClassName: optional(text("Name of the PriorityClass. Defaults to the default of the cluster.")),
  resources: one<V1ResourceRequirements>(
    "Compute resources that the container requires.",
    "ResourceRequirements",
  ),
  restartOn: optional(
    choice(
      "Which changes of Secrets and ConfigMaps restart the pods. Certificates restarts them if a certificate in tls or certs changes. All also includes environment variables and volumes. None disables restarts. Defaults to Certificates.",
      ["Certificates", "All", "None"],
    ),
  ),
  securityContext: one<V1SecurityContext>(
    "Security attributes of the container, such as capabilities and a read-only root filesystem.",
    "SecurityContext",
  ),
  terminationGracePeriodSeconds: optional(
    int64("Seconds that a pod has to terminate gracefully. Defaults to 30.", { minimum: 0 }),
  ),
  tolerations: listMap<V1Toleration>("Node taints that the pods tolerate.", "Toleration"),
  topologySpreadConstraints: listMap<V1TopologySpreadConstraint>(
    "How to spread the pods across zones, nodes or other topology domains.",
    "TopologySpreadConstraint",
    "topologyKey",
    "whenUnsatisfiable",
  ),
  volumeMounts: listMap<V1VolumeMount>(
    "Volume mounts of the container, in addition to those that the operator sets.",
    "VolumeMount",
    "mountPath",
  ),
  volumes: listMap<V1Volume>(
    "Volumes of the pods, in addition to those that the operator sets.",
    "Volume",
    "name",
  ),
};
const podFieldsSchema = Type.Object(podFields);
/** Pod fields that all three kinds have. Shared builders accept any spec with these fields. */
export type PodFields = Static<typeof podFieldsSchema>;

const nonNegative = { minimum: 0 };

/** A number for which 0 means absent. */
function orDefault(description: string, field: keyof typeof probeDefaults) {
  return optional(
    int32(`${description} Defaults to ${probeDefaults[field]}, also if set to 0.`, nonNegative),
  );
}

function probeFields(enabled: string) {
  return {
    enabled: optional(flag(enabled)),
    failureThreshold: orDefault(
      "Consecutive failures after which the probe is considered failed.",
      "failureThreshold",
    ),
    initialDelaySeconds: optional(
      int32("Seconds after the start of the container before the first probe.", {
        ...nonNegative,
        default: probeDefaults.initialDelaySeconds,
      }),
    ),
    periodSeconds: orDefault("Seconds between checks.", "periodSeconds"),
    successThreshold: orDefault(
      "Consecutive successes after which the probe is considered successful again.",
      "successThreshold",
    ),
    timeoutSeconds: orDefault("Seconds after which the probe times out.", "timeoutSeconds"),
  };
}

/** `default` is the default in the CRD, if any. */
type ProbeOptions = { default?: { readonly enabled: boolean } };

export function readinessProbe(description: string, defaults: ProbeOptions = {}) {
  return object(description, probeFields("Enables the readiness probe."), defaults);
}

export function livenessProbe(description: string, defaults: ProbeOptions = {}) {
  return object(description, probeFields("Enables the liveness probe."), {
    ...defaults,
    ...rules({
      rule: "!has(self.enabled) || !self.enabled || !has(self.successThreshold) || self.successThreshold <= 1",
      message: "must be 1 for a liveness probe",
      fieldPath: ".successThreshold",
    }),
  });
}

export type ProbeSpec = Static<ReturnType<typeof readinessProbe>>;

const certSecret = object("A Secret that contains a certificate authority.", {
  key: requiredSecretDataKey("Key in the Secret's data that holds the PEM certificates."),
  name: objectName("Name of a Secret in the same namespace."),
});

export function certs(options: { default?: object } = {}) {
  return object(
    "Additional certificate authorities to trust.",
    { secrets: optional(list("Secrets that contain certificate authorities.", certSecret)) },
    options,
  );
}
export type CertsSpec = Static<ReturnType<typeof certs>>;

export function replicas(description: string, options: { default?: number } = {}) {
  return int32(description, { minimum: 0, ...options });
}
