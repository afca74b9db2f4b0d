import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Client } from "kube-controller-runtime";
import type { ClusterAccess } from "kube-controller-runtime/testing";
import { aControlPlane } from "../lab/builders.ts";
import { type OperatorProcess, startOperatorProcess } from "../lab/operator-process.ts";
import { CoderControlPlane } from "../src/api/v1alpha1/kinds.ts";
import { nodeFlags } from "../tools/build/bundle.ts";

const POLL_MS = 20;
const BUNDLE = fileURLToPath(new URL("../dist/coder-k8s.mjs", import.meta.url));

/** Starts the release bundle like the image, with a Lease in the given namespace; resolves once it is ready. */
export function startBundle(
  cluster: ClusterAccess,
  leaseNamespace: string,
  flags: readonly string[] = [],
): Promise<OperatorProcess> {
  const entry = [...nodeFlags, BUNDLE];
  return startOperatorProcess(cluster, [`--leader-election-namespace=${leaseNamespace}`, ...flags], entry);
}

/**
 * Waits until it is the leader, because only the leader works. Its caches are already synced when it is
 * ready.
 */
export async function untilLeading(operator: OperatorProcess): Promise<void> {
  while (!operator.isLeader) await sleep(POLL_MS);
}

/** Runs work that needs the operator; fails with the end of its log if it exits in the meantime. */
export async function whileRunning<T>(
  { program }: Pick<OperatorProcess, "program">,
  work: Promise<T>,
): Promise<T> {
  const ended = program.ended.then(() => {
    throw new Error(`the operator ended while it was measured:\n${program.logTail()}`);
  });
  return Promise.race([work, ended]);
}

/** Waits until the operator has reported on the control plane's current spec. */
export async function untilReported(person: Client, ref: { namespace: string; name: string }): Promise<void> {
  for (;;) {
    const { metadata, status } = await person.get(CoderControlPlane, ref);
    if (status?.observedGeneration === metadata.generation) return;
    await sleep(POLL_MS);
  }
}

/** A control plane that refers to one Secret. */
export function referringControlPlane(namespace: string): CoderControlPlane {
  return aControlPlane({ namespace, spec: { licenseSecretRef: { name: "license" } } });
}

/** The value of a counter or gauge, summed over the label sets that contain the given text. */
export function metric(exposition: string, name: string, labels = ""): number {
  const lines = exposition.split("\n").filter((line) => new RegExp(`^${name}[{ ]`).test(line));
  const chosen = lines.filter((line) => line.includes(labels));
  return chosen.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}
