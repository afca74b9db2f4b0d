import { cpus, release, totalmem, type } from "node:os";
import { fileURLToPath } from "node:url";
import { readGoModule } from "kube-controller-runtime/testing/binaries";

/** The environment of the measurement. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGB: number;
  readonly system: string;
  readonly node: string;
  readonly kubernetes: string;
}

export function thisMachine(): Machine {
  const [first, ...others] = cpus();
  const pinned = readGoModule(
    fileURLToPath(new URL("../packages/kube-controller-runtime/testing/kube/", import.meta.url)),
  );
  return {
    processor: first?.model.trim() || process.arch,
    cores: others.length + 1,
    memoryGB: Math.round(totalmem() / 1024 ** 3),
    system: `${type()} ${release()}`,
    node: process.version,
    kubernetes: pinned.versionOf("k8s.io/kubernetes"),
  };
}
