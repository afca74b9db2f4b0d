import type { CoderClient } from "../../coder/client.ts";
import type { DatabaseTarget } from "../../coder/operator-access/access.ts";
import type { RunContext } from "../../runtime/controller/controller.ts";
import { ConfigMap, Secret } from "../../runtime/kinds.ts";
import type { SecretKey } from "../shared/normalise.ts";
import { mountedFile } from "../shared/pod-files.ts";
import type { CoderPorts } from "../shared/ports.ts";
import { readSecretValue } from "../shared/secret.ts";
import { clusterURL } from "../shared/service.ts";
import type { Memory } from "./memory.ts";
import { controlPlaneDeployment } from "./resources/deployment.ts";
import type { ControlPlane } from "./spec.ts";

/** What the steps that speak to coderd work with, beside the snapshot. */
export interface CoderdContext {
  readonly context: RunContext;
  readonly ports: CoderPorts;
  readonly memory: Memory;
}

type Reader = Pick<RunContext, "referenced">;

/** A client for the control plane's coderd, which trusts the certificates that it serves TLS with. */
export async function coderdClient(
  controlPlane: ControlPlane,
  token: string | undefined,
  { ports, context }: { ports: Pick<CoderPorts, "coderd">; context: Reader },
): Promise<CoderClient> {
  const { tlsSecretNames, authorities } = controlPlane.pod;
  const served = tlsSecretNames.flatMap((name) => [
    { name, key: "ca.crt" },
    { name, key: "tls.crt" },
  ]);
  const ca =
    served.length > 0 ? await certificates([...authorities, ...served], controlPlane, context) : undefined;
  return ports.coderd.client({ url: clusterURL(controlPlane), token, ca });
}

/** The database as coderd's pod would reach it, with the certificates that the pod has. */
export async function databaseTarget(
  controlPlane: ControlPlane,
  connectionUrl: string,
  context: Reader,
): Promise<DatabaseTarget> {
  return {
    connectionUrl,
    controlPlane: controlPlane.identity,
    ca: await certificates(controlPlane.pod.authorities, controlPlane, context),
    readFile: (path) => readPodFile(controlPlane, path, context),
  };
}

async function certificates(
  keys: readonly SecretKey[],
  { identity: { namespace } }: ControlPlane,
  { referenced }: Reader,
): Promise<string | undefined> {
  const found: string[] = [];
  for (const { name, key } of keys) {
    const pem = readSecretValue(await referenced(Secret).get({ namespace, name }), key);
    if (pem) found.push(pem.trim());
  }
  return found.length > 0 ? found.join("\n") : undefined;
}

async function readPodFile(
  controlPlane: ControlPlane,
  path: string,
  { referenced }: Reader,
): Promise<string | undefined> {
  const file = mountedFile(controlPlaneDeployment(controlPlane, new Set()), path);
  if (!file) return undefined;
  const ref = { namespace: controlPlane.identity.namespace, name: file.name };
  if (file.kind === "ConfigMap") return (await referenced(ConfigMap).get(ref))?.data?.[file.key];
  return readSecretValue(await referenced(Secret).get(ref), file.key);
}
