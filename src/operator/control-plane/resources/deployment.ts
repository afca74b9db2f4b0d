import type { Deployment } from "../../../runtime/kinds.ts";
import type { ContainerPort } from "../../shared/certificates.ts";
import type { EnvVar } from "../../shared/env.ts";
import { commonLabels } from "../../shared/names.ts";
import { deployment } from "../../shared/pod.ts";
import type { ControlPlane } from "../spec.ts";
import { defaultAccessURL } from "../url.ts";
import { app, metadataOf } from "./metadata.ts";

export const httpContainerPort: ContainerPort = { name: "http", containerPort: 8080, protocol: "TCP" };

/** The variable by which coderd learns its own URL, and which users set where they want another. */
export const accessURLVariable = "CODER_ACCESS_URL";

/** What the builder must know of objects that only the cluster can show. */
export interface DeploymentInputs {
  /** Names of the variables that `envFrom` defines, as far as anybody here asks for them. */
  readonly envFromNames: ReadonlySet<string>;
}

export function controlPlaneDeployment(controlPlane: ControlPlane, inputs: DeploymentInputs): Deployment {
  const { authorities, identity, image, pod, replicas, serviceAccount, tlsSecretNames } = controlPlane;
  return deployment({
    metadata: metadataOf(controlPlane),
    labels: commonLabels(app, identity.name),
    replicas,
    serviceAccountName: serviceAccount.name,
    image,
    containerName: "coder",
    // The image's entrypoint is `/opt/coder server`.
    args: [`--http-address=0.0.0.0:${httpContainerPort.containerPort}`],
    env: [...relayEnv, ...accessURLEnv(controlPlane, inputs)],
    ports: [httpContainerPort],
    probes: {
      target: { path: "/healthz", port: "http" },
      readiness: controlPlane.readinessProbe,
      liveness: controlPlane.livenessProbe,
    },
    tlsSecretNames,
    authorities,
    pod,
  });
}

/** Replicas relay to each other directly, by the address of the pod. */
const relayEnv: readonly EnvVar[] = [
  { name: "KUBE_POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
  { name: "CODER_DERP_SERVER_RELAY_URL", value: `http://$(KUBE_POD_IP):${httpContainerPort.containerPort}` },
];

/** A variable in `env` beats the same one from `envFrom`, so ours must stay out where the user has one. */
function accessURLEnv(controlPlane: ControlPlane, { envFromNames }: DeploymentInputs): EnvVar[] {
  const { pod, useClusterAccessURL } = controlPlane;
  const usersOwn =
    envFromNames.has(accessURLVariable) || pod.extraEnv.some(({ name }) => name === accessURLVariable);
  if (!useClusterAccessURL || usersOwn) return [];
  return [{ name: accessURLVariable, value: defaultAccessURL(controlPlane) }];
}
