import { fileURLToPath } from "node:url";
import type { GoBinary } from "../binaries/go-build.ts";
import { type GoModule, readGoModule } from "../binaries/go-module.ts";
import type { Platform } from "../binaries/platform.ts";

/** The binaries of a local cluster, in the order in which they are needed and therefore built. */
export const binaryNames = ["etcd", "kube-apiserver", "kubectl", "kube-controller-manager"] as const;
export type BinaryName = (typeof binaryNames)[number];

/** Absolute path of every binary. */
export type KubeBinaries = Readonly<Record<BinaryName, string>>;

/** The Go package of each binary, as listed under `tool` in `go.mod`. */
const goPackages: KubeBinaries = {
  etcd: "go.etcd.io/etcd/server/v3",
  "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
  kubectl: "k8s.io/kubernetes/cmd/kubectl",
  "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
};

/**
 * Folders whose `go.mod` pins a Kubernetes version; the first is the default, unless `KUBE_VERSION` selects
 * another.
 */
const FOLDERS = [".", "1.30"];

/** The versions that `go.mod` pins, each with its leading `v`. */
export interface Pins {
  readonly kubernetes: string;
  readonly etcd: string;
  readonly cacheKey: string;
  readonly module: GoModule;
}

/** The pins of a version, written `1.30.14`; defaults to the newest. Throws if the version is not pinned. */
export function readPins(platform: Platform, version?: string): Pins {
  const modules = FOLDERS.map((folder) => readGoModule(fileURLToPath(new URL(folder, import.meta.url))));
  const kubernetesOf = (module: GoModule) => module.versionOf("k8s.io/kubernetes");
  const module = version
    ? modules.find((candidate) => kubernetesOf(candidate) === `v${version}`)
    : modules[0];
  if (module === undefined) {
    const known = modules.map((candidate) => kubernetesOf(candidate).slice(1)).join(" and ");
    throw new Error(`KUBE_VERSION is ${version}, but the runtime pins ${known}`);
  }
  const kubernetes = kubernetesOf(module);
  const etcd = module.versionOf("go.etcd.io/etcd/server/v3");
  const cacheKey = `${kubernetes}-${platform.os}-${platform.arch}-${module.digest}`;
  return { kubernetes, etcd, cacheKey, module };
}

/** How to build a binary in the pinned version. */
export function goBinary(name: BinaryName, { kubernetes, etcd, module }: Pins): GoBinary {
  return {
    name,
    module,
    package: goPackages[name],
    version: name === "etcd" ? etcd : kubernetes,
    // Otherwise Kubernetes binaries report v0.0.0 and reject their feature gates.
    stamp: `k8s.io/component-base/version.gitVersion=${kubernetes}`,
  };
}
