import type { Deployment } from "kube-controller-runtime";
import { clusterAccessURL } from "../../exposure/service.ts";
import { deployment } from "../../pods/deployment.ts";
import { type EnvFromNames, type EnvVar, isUsersOwn } from "../../pods/env.ts";
import { type ControlPlane, httpContainerPort } from "../spec.ts";

/** The variable by which coderd learns its own URL. Where the user sets it, ours stays out. */
export const accessURLVariable = "CODER_ACCESS_URL";

export function controlPlaneDeployment(controlPlane: ControlPlane, envFromNames: EnvFromNames): Deployment {
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
      args: [`--http-address=0.0.0.0:${httpContainerPort.containerPort}`],
      env: [...relayEnv, ...accessURLEnv(controlPlane, envFromNames)],
      ports: [httpContainerPort],
      health: { path: "/healthz", port: "http" },
    },
    pod,
  });
}

/** Replicas relay to each other directly, by the address of the pod. */
const relayEnv: readonly EnvVar[] = [
  { name: "KUBE_POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
  { name: "CODER_DERP_SERVER_RELAY_URL", value: `http://$(KUBE_POD_IP):${httpContainerPort.containerPort}` },
];

function accessURLEnv(controlPlane: ControlPlane, envFromNames: EnvFromNames): EnvVar[] {
  const { pod, useClusterAccessURL } = controlPlane;
  if (!useClusterAccessURL || isUsersOwn(accessURLVariable, pod.extraEnv, envFromNames)) return [];
  return [{ name: accessURLVariable, value: clusterAccessURL(controlPlane) }];
}
