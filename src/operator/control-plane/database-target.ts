import { ConfigMap, type RunContext, Secret } from "kube-controller-runtime";
import type { DatabaseTarget } from "../../coder/operator-access/access.ts";
import { DatabaseProblem } from "../../coder/operator-access/failure.ts";
import { readSecretValue } from "../secret.ts";
import { gatherSources } from "../sources.ts";
import { mountedFile } from "./pod-files.ts";
import { controlPlaneDeployment } from "./resources/deployment.ts";
import { certificates } from "./session/open.ts";
import type { ControlPlane } from "./spec.ts";

type Reader = Pick<RunContext, "caches" | "referenced">;

/** The database as coderd's pod would reach it, with the certificates that the pod has. */
export function databaseTarget(
  controlPlane: ControlPlane,
  connectionUrl: string,
  context: Reader,
): DatabaseTarget {
  return {
    connectionUrl,
    controlPlane: controlPlane.identity,
    ca: () => databaseAuthorities(controlPlane, context),
    readFile: (path) => readPodFile(controlPlane, path, context),
  };
}

async function databaseAuthorities(
  { identity, pod: { authorities } }: ControlPlane,
  context: Reader,
): Promise<string | undefined> {
  const secrets = authorities.map(({ name }) => name);
  const sources = await gatherSources(identity.namespace, { secrets }, context);
  const { ca, fault } = certificates(authorities, sources);
  if (fault) throw new DatabaseProblem("tlsFailed", fault);
  return ca;
}

async function readPodFile(
  controlPlane: ControlPlane,
  path: string,
  { referenced }: Reader,
): Promise<string | undefined> {
  const inputs = { envFromNames: new Set<string>(), clusterDomain: "" };
  const file = mountedFile(controlPlaneDeployment(controlPlane, inputs), path);
  if (!file) return undefined;
  const ref = { namespace: controlPlane.identity.namespace, name: file.name };
  if (file.kind === "ConfigMap") return (await referenced(ConfigMap).get(ref))?.data?.[file.key];
  return readSecretValue(await referenced(Secret).get(ref), file.key);
}
