import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { LocalNode } from "kube-controller-runtime/testing/node";
import { helmBinary } from "../../tools/helm/binary.ts";

const CHART = fileURLToPath(new URL("../../charts/coder-k8s", import.meta.url));

/** Installs the operator as the README says, with helm's files in `home`; returns when its pods are ready. */
export async function helmInstall(node: LocalNode, home: string): Promise<void> {
  const args = ["install", "coder-k8s", CHART, "--namespace", "coder-system", "--create-namespace", "--wait"];
  const env = { PATH: process.env.PATH, HOME: home, KUBECONFIG: node.kubeconfig };
  await promisify(execFile)(await helmBinary(), args, { env });
}
