import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { releaseNames } from "../../../tools/generate/release-names.ts";
import { helmBinary } from "../../../tools/helm/binary.ts";
import type { TestCluster } from "./test-cluster.ts";

const repository = fileURLToPath(new URL("../../..", import.meta.url));
const NAMESPACE = "coder-system";
const RELEASE = "coder-k8s";
const UPGRADE = `helm upgrade ${RELEASE} charts/coder-k8s --namespace ${NAMESPACE} --reset-values`;

/** The command in the README by which the operator is installed. */
function readmeInstall(): string {
  const readme = readFileSync(join(repository, "README.md"), "utf8");
  const command = readme.split("\n").find((line) => line.startsWith("helm install "));
  if (command === undefined) throw new Error("the README does not say how to install with helm");
  return command;
}

/** Installs chart and image of this checkout by the README's command, or upgrades to them; returns when its pods run. */
export async function installOperator(place: TestCluster): Promise<void> {
  const { stdout } = await helm(place, `helm list --namespace ${NAMESPACE} --short`);
  const isInstalled = stdout.trim() === RELEASE;
  await helm(
    place,
    `${isInstalled ? UPGRADE : readmeInstall()} --set image.repository=${repositoryOf(place)}`,
  );
  // The image may be another one by the same name.
  if (isInstalled) await inNamespace(place, "rollout", "restart", `deployment/${RELEASE}`);
  await rolledOut(place);
}

/** Runs a line that begins with `helm`, as a person would in the folder of the repository. */
export async function helm({ kubeconfig }: TestCluster, line: string) {
  const folder = dirname(await helmBinary());
  const env = { ...process.env, KUBECONFIG: kubeconfig, PATH: `${folder}:${process.env.PATH}` };
  return promisify(execFile)("sh", ["-c", line], { cwd: repository, env });
}

/** Returns when all replicas of the operator run its current version. */
export async function rolledOut(place: TestCluster): Promise<void> {
  await inNamespace(place, "rollout", "status", `deployment/${RELEASE}`, "--timeout=120s");
}

function inNamespace({ kubeconfig, kubectl }: TestCluster, ...args: string[]) {
  return promisify(execFile)(kubectl, [`--kubeconfig=${kubeconfig}`, `--namespace=${NAMESPACE}`, ...args]);
}

/** The name of the operator's image there. */
export function operatorImage(place: TestCluster): string {
  return `${repositoryOf(place)}:${releaseNames({}).version}`;
}

function repositoryOf({ imagePrefix }: TestCluster): string {
  const { image } = releaseNames({});
  return imagePrefix ? `${imagePrefix}/${image.split("/").at(-1)}` : image;
}
