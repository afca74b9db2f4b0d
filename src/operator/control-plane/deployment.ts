import type { Deployment } from "kube-controller-runtime";
import { accessURLVariable, chosenURL } from "../coderd/address.ts";
import { type ControlPlane, httpContainerPort } from "../coderd/settings.ts";
import { CLUSTER_HOST, CLUSTER_PORT } from "../workload/additions.ts";
import { anyAddress, podHost } from "../workload/address-family.ts";
import { deployment } from "../workload/deployment.ts";
import { type EnvFromNames, type EnvVar, isSetByUser } from "../workload/env.ts";
import { clusterAccessURL } from "../workload/exposure/service.ts";
import type { ProbeSettings } from "../workload/probes.ts";

/** Inputs from the cluster, in addition to the spec. */
export interface DeploymentInputs {
  readonly envFromNames: EnvFromNames;
  readonly clusterDomain: string;
  /** IP address of the Service, if known. */
  readonly clusterIP?: string | undefined;
  /** Delays the other probes until coderd has started, which may include a migration. */
  readonly startupProbe?: ProbeSettings | undefined;
}

export function controlPlaneDeployment(controlPlane: ControlPlane, inputs: DeploymentInputs): Deployment {
  const { clusterIP } = inputs;
  const { childName, image, pod, replicas, serviceAccount } = controlPlane;
  return deployment({
    parent: controlPlane,
    name: childName,
    replicas,
    serviceAccountName: serviceAccount.name,
    program: {
      name: "coder",
      image,
      subcommand: ["server"],
      args: [`--http-address=${anyAddress(clusterIP)}:${httpContainerPort.containerPort}`],
      env: [...relayEnv(clusterIP), ...accessURLEnv(controlPlane, inputs)],
      ports: [httpContainerPort, CLUSTER_PORT],
      health: { path: "/healthz", port: "http" },
      startupProbe: inputs.startupProbe,
    },
    pod,
    clusterIP,
  });
}

/** Replicas relay messages to each other directly by pod IP address. */
function relayEnv(clusterIP: string | undefined): EnvVar[] {
  const host = podHost("KUBE_POD_IP", clusterIP);
  return [
    { name: "KUBE_POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
    { name: "CODER_DERP_SERVER_RELAY_URL", value: `http://${host}:${httpContainerPort.containerPort}` },
    CLUSTER_HOST,
  ];
}

function accessURLEnv(
  controlPlane: ControlPlane,
  { envFromNames, clusterDomain }: DeploymentInputs,
): EnvVar[] {
  const { pod, useClusterAccessURL } = controlPlane;
  if (isSetByUser(accessURLVariable, pod.extraEnv, envFromNames)) return [];
  const inCluster = useClusterAccessURL ? clusterAccessURL(controlPlane, clusterDomain) : undefined;
  const value = chosenURL(controlPlane) ?? inCluster;
  return value ? [{ name: accessURLVariable, value }] : [];
}
