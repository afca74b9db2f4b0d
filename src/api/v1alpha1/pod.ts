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

/** `keys` are the fields in which entries differ, as in a pod: the API server refuses others here, not there. */
function several<T>(description: string, type: string, ...keys: readonly string[]) {
  const distinct = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys };
  return optional(kubeList<Wire<T>>(description, core(type), keys.length > 0 ? distinct : {}));
}

/** What may be said about the pods of every kind, and about what keeps them. */
export const podFields = {
  ...workloadFields,
  affinity: one<V1Affinity>(
    "Which nodes the pods prefer or avoid, and which pods they keep company with.",
    "Affinity",
  ),
  command: optional(
    list(
      "The `coder` program in the image, if it is not `/opt/coder`. Arguments are the operator's own and extraArgs.",
      Type.String(),
    ),
  ),
  envFrom: several<V1EnvFromSource>(
    "Secrets and ConfigMaps whose keys become environment variables of the container.",
    "EnvFromSource",
  ),
  extraArgs: optional(list("Arguments added after the operator's own.", Type.String())),
  extraEnv: several<V1EnvVar>(
    "Environment variables added after the operator's own; a variable given here wins.",
    "EnvVar",
  ),
  hostAliases: several<V1HostAlias>(
    "Host names that the pods find at these addresses, whatever DNS says. They win over those that the operator maps.",
    "HostAlias",
    "ip",
  ),
  imagePullPolicy: optional(
    choice("When the image is pulled; absent means Always for the tag `latest`, else IfNotPresent.", [
      "Always",
      "IfNotPresent",
      "Never",
    ]),
  ),
  imagePullSecrets: several<V1LocalObjectReference>(
    "Secrets, in the object's namespace, with credentials for the image's registry.",
    "LocalObjectReference",
  ),
  initContainers: several<V1Container>(
    "Containers that run before the operator's own, one after the other; with restartPolicy Always, beside it.",
    "Container",
    "name",
  ),
  lifecycle: one<V1Lifecycle>("What runs right after the container starts and before it ends.", "Lifecycle"),
  nodeSelector: optional(stringMap("Labels that a node must have to run the pods.")),
  podAnnotations: optional(addedAnnotations("Annotations of the pods.")),
  podLabels: optional(addedLabels("Labels of the pods, beside those of the operator.")),
  podSecurityContext: one<V1PodSecurityContext>(
    "Security settings of the pods as a whole, such as fsGroup and runAsNonRoot.",
    "PodSecurityContext",
  ),
  priorityClassName: optional(text("PriorityClass of the pods; absent means the cluster's default.")),
  resources: one<V1ResourceRequirements>(
    "CPU, memory and other resources that the container requests and is limited to.",
    "ResourceRequirements",
  ),
  restartOn: optional(
    choice(
      "Which changes replace the pods by themselves: Certificates of tls and certs, All that the pods refer to (Secrets and ConfigMaps of certificates, environment and volumes), or None. Absent means Certificates.",
      ["Certificates", "All", "None"],
    ),
  ),
  securityContext: one<V1SecurityContext>(
    "Security settings of the container, such as capabilities and a read-only root filesystem.",
    "SecurityContext",
  ),
  terminationGracePeriodSeconds: optional(
    int64("Seconds that a pod may take to end; absent means Kubernetes' default, 30.", { minimum: 0 }),
  ),
  tolerations: several<V1Toleration>("Node taints that the pods put up with.", "Toleration"),
  topologySpreadConstraints: several<V1TopologySpreadConstraint>(
    "How the pods are spread over zones, nodes or other domains.",
    "TopologySpreadConstraint",
    "topologyKey",
    "whenUnsatisfiable",
  ),
  volumeMounts: several<V1VolumeMount>(
    "Where the volumes appear in the container, in addition to the operator's own mounts.",
    "VolumeMount",
    "mountPath",
  ),
  volumes: several<V1Volume>("Volumes of the pods, in addition to the operator's own.", "Volume", "name"),
};
const podFieldsSchema = Type.Object(podFields);
/** The fields that all three kinds share; shared builders take any spec that has them. */
export type PodFields = Static<typeof podFieldsSchema>;

const notNegative = { minimum: 0 };

/** A number of which 0 counts as absent. */
function orDefault(description: string, field: keyof typeof probeDefaults) {
  return optional(int32(`${description} 0 and absent mean ${probeDefaults[field]}.`, notNegative));
}

function probeFields(enabled: string) {
  return {
    enabled: optional(flag(enabled)),
    failureThreshold: orDefault("Failures in a row that make the check fail.", "failureThreshold"),
    initialDelaySeconds: optional(
      int32("Seconds to wait after the container started before the first check.", {
        ...notNegative,
        default: probeDefaults.initialDelaySeconds,
      }),
    ),
    periodSeconds: orDefault("Seconds between checks.", "periodSeconds"),
    successThreshold: orDefault("Successes in a row that make the check pass again.", "successThreshold"),
    timeoutSeconds: orDefault("Seconds after which an unanswered check counts as failed.", "timeoutSeconds"),
  };
}

/** `default` is what the CRD fills in when the field is absent, if anything. */
type ProbeOptions = { default?: { readonly enabled: boolean } };

export function readinessProbe(description: string, defaults: ProbeOptions = {}) {
  return object(description, probeFields("Whether the pods are checked for readiness."), defaults);
}

export function livenessProbe(description: string, defaults: ProbeOptions = {}) {
  return object(description, probeFields("Whether the container is restarted when it stops answering."), {
    ...defaults,
    ...rules({
      rule: "!has(self.enabled) || !self.enabled || !has(self.successThreshold) || self.successThreshold <= 1",
      message: "Kubernetes allows a liveness check only 1 success: leave successThreshold out or write 1",
      fieldPath: ".successThreshold",
    }),
  });
}

export type ProbeSpec = Static<ReturnType<typeof readinessProbe>>;

const certSecret = object("One certificate authority in a Secret.", {
  key: requiredSecretDataKey("Key of the Secret's data that holds the PEM certificates."),
  name: objectName("Name of the Secret, in the object's namespace."),
});

export function certs(options: { default?: object } = {}) {
  return object(
    "Certificate authorities to trust in addition to those of the image.",
    { secrets: optional(list("Secrets that hold certificate authorities.", certSecret)) },
    options,
  );
}
export type CertsSpec = Static<ReturnType<typeof certs>>;

export function replicas(description: string, options: { default?: number } = {}) {
  return int32(description, { minimum: 0, ...options });
}
