import type { Deployment, Pod, Stored } from "kube-controller-runtime";
import type { SecretKey } from "../normalize.ts";
import { anyAddress } from "../workload/address-family.ts";
import type { ContainerPort } from "../workload/certificates.ts";
import { deployment } from "../workload/deployment.ts";
import type { EnvVar } from "../workload/env.ts";
import type { HostAlias } from "../workload/host-aliases.ts";
import { isComplete, isObserved } from "../workload/pods/rollout.ts";
import { DAEMON_CONNECTED } from "./admit.ts";
import { CONTAINER } from "./daemon-container.ts";
import type { Provisioner } from "./spec.ts";

/** Inputs from the cluster and coderd, in addition to the spec. */
export interface DeploymentInputs {
  readonly image: string;
  readonly coderURL: string;
  readonly hostAliases?: readonly HostAlias[];
  /** IP address of coderd's Service. Determines the address family on which daemons listen. */
  readonly clusterIP?: string | undefined;
  readonly key: SecretKey;
  /** Checksum of the key in that Secret; see `keyChecksum`. */
  readonly keyChecksum: string;
}

/** On the pod template, so that a new key replaces the pods. */
const keyChecksumAnnotation = "checksum/provisioner-key";
export const urlVariable = "CODER_URL";
const metricsAddressVariable = "CODER_PROMETHEUS_ADDRESS";
export const keyVariable = "CODER_PROVISIONER_DAEMON_KEY";

const metricsPort: ContainerPort = { name: "metrics", containerPort: 2112, protocol: "TCP" };

export function provisionerDeployment(provisioner: Provisioner, inputs: DeploymentInputs): Deployment {
  const { childName, pod, replicas, serviceAccount } = provisioner;
  const probed = pod.readinessProbe !== undefined || pod.livenessProbe !== undefined;
  return deployment({
    parent: provisioner,
    name: childName,
    replicas,
    podAnnotations: { [keyChecksumAnnotation]: inputs.keyChecksum },
    serviceAccountName: serviceAccount.name,
    program: {
      name: CONTAINER,
      image: inputs.image,
      command: ["/opt/coder"],
      subcommand: ["provisionerd", "start"],
      args: [],
      env: [...daemonEnv(provisioner, inputs), ...(probed ? metricsEnv(inputs) : [])],
      ports: probed ? [metricsPort] : [],
      health: { path: "/", port: "metrics" },
      readinessGate: DAEMON_CONNECTED,
    },
    pod,
    hostAliases: inputs.hostAliases ?? [],
    clusterIP: inputs.clusterIP,
  });
}

/**
 * The key determines the organization and the tags. A daemon does not start if it has a key and either of
 * them.
 */
function daemonEnv(provisioner: Provisioner, { coderURL, key }: DeploymentInputs): EnvVar[] {
  return [
    { name: urlVariable, value: coderURL },
    { name: keyVariable, valueFrom: { secretKeyRef: { name: key.name, key: key.key } } },
    {
      name: "CODER_PROVISIONER_DAEMON_NAME",
      valueFrom: { fieldRef: { fieldPath: `metadata.${daemonNameField(provisioner)}` } },
    },
  ];
}

/** A daemon is named after its pod. Its name must not contain a dot, which pod names can; UIDs never do. */
function daemonNameField({ childName }: Provisioner): "uid" | "name" {
  return childName.includes(".") ? "uid" : "name";
}

/** Name of a pod's daemon in coderd. */
export function daemonNameOf(provisioner: Provisioner, { metadata }: Stored<Pod>): string {
  return metadata[daemonNameField(provisioner)];
}

/** IP address of the Service that determined the address family of running daemons, if visible. */
export function clusterIPBehind(deployment: Deployment | undefined): string | undefined {
  const { env = [] } = deployment?.spec?.template.spec?.containers[0] ?? {};
  const listens = env.find(({ name }) => name === metricsAddressVariable)?.value;
  return listens?.startsWith(anyAddress("::")) ? "::" : undefined;
}

/** A daemon only serves metrics, so probes use them. */
function metricsEnv({ clusterIP }: DeploymentInputs): EnvVar[] {
  return [
    { name: "CODER_PROMETHEUS_ENABLE", value: "true" },
    { name: metricsAddressVariable, value: `${anyAddress(clusterIP)}:${metricsPort.containerPort}` },
  ];
}

/** The key for new pods. */
export interface KeyInUse {
  readonly place: SecretKey;
  readonly value: string;
  readonly checksum: string;
  /** False if the key may be invalid: pods with another key are not replaced in the meantime. */
  readonly mayRollOut: boolean;
  /** The coderd that the key was created for, from the status. */
  readonly coderURL: string | undefined;
}

/** Whether pods with another key must wait until this key is confirmed. */
export function isHeldBack(
  { checksum, mayRollOut }: Pick<KeyInUse, "checksum" | "mayRollOut">,
  deployment: Deployment | undefined,
): boolean {
  const running = runningChecksum(deployment);
  return !mayRollOut && running !== undefined && running !== checksum;
}

/** Checksum of the key that the pods use. */
export function runningChecksum(deployment: Deployment | undefined): string | undefined {
  return deployment?.spec?.template.metadata?.annotations?.[keyChecksumAnnotation];
}

/** Whether all desired pods exist and use this key. */
export function isRolledOutWith(key: KeyPlace, deployment: Deployment | undefined): boolean {
  return isTemplateWith(key, deployment) && isComplete(deployment);
}

/** Whether no pod with another key remains, regardless of missing pods. Terminating pods are not counted. */
export function isOnlyOneInUse(key: KeyPlace, deployment: Deployment | undefined): boolean {
  const { replicas = 0, updatedReplicas = 0 } = deployment?.status ?? {};
  return isTemplateWith(key, deployment) && isObserved(deployment) && replicas === updatedReplicas;
}

type KeyPlace = Pick<KeyInUse, "place" | "checksum">;

function isTemplateWith({ place, checksum }: KeyPlace, deployment: Deployment | undefined): boolean {
  const template = deployment?.spec?.template;
  const variable = template?.spec?.containers[0]?.env?.find(({ name }) => name === keyVariable);
  const { name, key } = variable?.valueFrom?.secretKeyRef ?? {};
  return runningChecksum(deployment) === checksum && name === place.name && key === place.key;
}
