import { fileURLToPath } from "node:url";
import type { GoBinary } from "../binaries/go-build.ts";
import { type GoModule, readGoModule } from "../binaries/go-module.ts";
import type { Platform } from "../binaries/platform.ts";

/** What a local cluster runs on, in the order it is needed (and therefore built). */
export const binaryNames = ["etcd", "kube-apiserver", "kubectl", "kube-controller-manager"] as const;
export type BinaryName = (typeof binaryNames)[number];

/** Absolute path of every binary. */
export type KubeBinaries = Readonly<Record<BinaryName, string>>;

/** The Go package each binary is built from; the same ones `go.mod` lists as tools. */
const goPackages: KubeBinaries = {
  etcd: "go.etcd.io/etcd/server/v3",
  "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
  kubectl: "k8s.io/kubernetes/cmd/kubectl",
  "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
};

/** Folders whose `go.mod` pins a Kubernetes; the first one is used unless `KUBE_VERSION` names another. */
const FOLDERS = [".", "1.30"];

/** The versions `go.mod` pins, each with its leading `v`. */
export interface Pins {
  readonly kubernetes: string;
  readonly etcd: string;
  readonly cacheKey: string;
  readonly module: GoModule;
}

/** The pins of a version, written `1.30.14`; of the newest one by default. A version that is not pinned is refused. */
export function readPins(platform: Platform, version?: string): Pins {
  const modules = FOLDERS.map((folder) => readGoModule(fileURLToPath(new URL(folder, import.meta.url))));
  const kubernetesOf = (module: GoModule) => module.versionOf("k8s.io/kubernetes");
  const module = version
    ? modules.find((candidate) => kubernetesOf(candidate) === `v${version}`)
    : modules[0];
  if (module === undefined) {
    const known = modules.map((candidate) => kubernetesOf(candidate).slice(1)).join(" and ");
    throw new Error(`KUBE_VERSION is ${version}, and the runtime pins ${known}`);
  }
  const kubernetes = kubernetesOf(module);
  const etcd = module.versionOf("go.etcd.io/etcd/server/v3");
  const cacheKey = `${kubernetes}-${platform.os}-${platform.arch}-${module.digest}`;
  return { kubernetes, etcd, cacheKey, module };
}

/** How a binary is built in the pinned version. */
export function goBinary(name: BinaryName, { kubernetes, etcd, module }: Pins): GoBinary {
  return {
    name,
    module,
    package: goPackages[name],
    version: name === "etcd" ? etcd : kubernetes,
    // Without it Kubernetes binaries call themselves v0.0.0 and refuse their feature gates.
    stamp: `k8s.io/component-base/version.gitVersion=${kubernetes}`,
  };
}
