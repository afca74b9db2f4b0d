import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { releaseNames } from "../../../tools/generate/release-names.ts";
import { helmBinary } from "../../../tools/helm/binary.ts";
import type { TestPlace } from "./place.ts";

const repository = fileURLToPath(new URL("../../..", import.meta.url));
const NAMESPACE = "coder-system";
const RELEASE = "coder-k8s";

/** The command in the README by which the operator is installed. */
function readmeInstall(): string {
  const readme = readFileSync(join(repository, "README.md"), "utf8");
  const command = readme.split("\n").find((line) => line.startsWith("helm install "));
  if (command === undefined) throw new Error("the README does not say how to install with helm");
  return command;
}

/** Installs the operator by the README's command unless it is there, and returns when its pods run. */
export async function installOperator(place: TestPlace): Promise<void> {
  const { stdout } = await helm(place, `helm list --namespace ${NAMESPACE} --short`);
  if (stdout.trim() !== RELEASE) await helm(place, `${readmeInstall()} ${prefixed(place)}`);
  await rolledOut(place);
}

/** Runs a line that begins with `helm`, as a person would in the folder of the repository. */
export async function helm({ kubeconfig }: TestPlace, line: string) {
  const folder = dirname(await helmBinary());
  const env = { ...process.env, KUBECONFIG: kubeconfig, PATH: `${folder}:${process.env.PATH}` };
  return promisify(execFile)("sh", ["-c", line], { cwd: repository, env });
}

/** Returns when all replicas of the operator run its current version. */
export async function rolledOut({ kubeconfig, kubectl }: TestPlace): Promise<void> {
  const target = [`deployment/${RELEASE}`, `--namespace=${NAMESPACE}`, "--timeout=120s"];
  await promisify(execFile)(kubectl, [`--kubeconfig=${kubeconfig}`, "rollout", "status", ...target]);
}

function prefixed({ imagePrefix }: TestPlace): string {
  return imagePrefix
    ? `--set image.repository=${imagePrefix}/${releaseNames({}).image.split("/").at(-1)}`
    : "";
}
