import { ConfigMap, Secret } from "kube-controller-runtime";
import type { CoderClient } from "../../coder/client.ts";
import type { DatabaseTarget } from "../../coder/operator-access/access.ts";
import { mountedFile } from "../shared/pod-files.ts";
import type { CoderPorts } from "../shared/ports.ts";
import type { Environment } from "../shared/reconciler.ts";
import { readSecretValue } from "../shared/secret.ts";
import { clusterURL } from "../shared/service.ts";
import { certificates, openSession, type SecretReader } from "../shared/session.ts";
import type { Memory } from "./memory.ts";
import { controlPlaneDeployment } from "./resources/deployment.ts";
import type { ControlPlane } from "./spec.ts";

/** What the steps that speak to coderd work with, beside the snapshot. */
export type CoderdContext = Environment<Memory>;

/** A client for the control plane's coderd, at the URL of its Service. */
export function coderdClient(
  controlPlane: ControlPlane,
  token: string | undefined,
  environment: { readonly ports: Pick<CoderPorts, "coderd">; readonly context: SecretReader },
): Promise<CoderClient> {
  return openSession(controlPlane, { url: clusterURL(controlPlane), token }, environment);
}

/** The database as coderd's pod would reach it, with the certificates that the pod has. */
export async function databaseTarget(
  controlPlane: ControlPlane,
  connectionUrl: string,
  context: SecretReader,
): Promise<DatabaseTarget> {
  return {
    connectionUrl,
    controlPlane: controlPlane.identity,
    ca: await certificates(controlPlane.pod.authorities, controlPlane, context),
    readFile: (path) => readPodFile(controlPlane, path, context),
  };
}

async function readPodFile(
  controlPlane: ControlPlane,
  path: string,
  { referenced }: SecretReader,
): Promise<string | undefined> {
  const file = mountedFile(controlPlaneDeployment(controlPlane, new Set()), path);
  if (!file) return undefined;
  const ref = { namespace: controlPlane.identity.namespace, name: file.name };
  if (file.kind === "ConfigMap") return (await referenced(ConfigMap).get(ref))?.data?.[file.key];
  return readSecretValue(await referenced(Secret).get(ref), file.key);
}
