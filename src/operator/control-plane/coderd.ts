import type { Environment } from "kube-controller-runtime";
import { ConfigMap, Secret } from "kube-controller-runtime";
import type { CoderClient } from "../../coder/client.ts";
import type { DatabaseTarget } from "../../coder/operator-access/access.ts";
import { DatabaseProblem } from "../../coder/operator-access/failure.ts";
import { clusterURL } from "../exposure/service.ts";
import type { CoderPorts } from "../ports.ts";
import { readSecretValue } from "../secret.ts";
import type { Memory } from "./memory.ts";
import { mountedFile } from "./pod-files.ts";
import { controlPlaneDeployment } from "./resources/deployment.ts";
import { certificates, openSession, type SecretReader } from "./session.ts";
import type { ControlPlane } from "./spec.ts";

/** What the steps that speak to coderd work with, beside the snapshot. */
export type CoderdContext = Environment<Memory, CoderPorts>;

/** A client for the control plane's coderd, at the URL of its Service. */
export function coderdClient(
  controlPlane: ControlPlane,
  token: string | undefined,
  environment: { readonly ports: Pick<CoderPorts, "coderd">; readonly context: SecretReader },
): Promise<CoderClient> {
  return openSession(controlPlane, { url: clusterURL(controlPlane), token }, environment);
}

/** The database as coderd's pod would reach it, with the certificates that the pod has. */
export function databaseTarget(
  controlPlane: ControlPlane,
  connectionUrl: string,
  context: SecretReader,
): DatabaseTarget {
  return {
    connectionUrl,
    controlPlane: controlPlane.identity,
    ca: () => databaseAuthorities(controlPlane, context),
    readFile: (path) => readPodFile(controlPlane, path, context),
  };
}

async function databaseAuthorities(
  controlPlane: ControlPlane,
  context: SecretReader,
): Promise<string | undefined> {
  const { ca, fault } = await certificates(controlPlane.pod.authorities, controlPlane, context);
  if (fault) throw new DatabaseProblem({ kind: "tlsFailed", message: fault });
  return ca;
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
