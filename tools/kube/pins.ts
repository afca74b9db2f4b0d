import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The folder whose `go.mod` pins every version; `go build` runs there. */
export const kubeModuleDir = fileURLToPath(new URL(".", import.meta.url));

/** What a local cluster runs on, in the order it is needed (and therefore built). */
export const binaryNames = ["etcd", "kube-apiserver", "kubectl", "kube-controller-manager"] as const;
export type BinaryName = (typeof binaryNames)[number];

/** Absolute path of every binary. */
export type KubeBinaries = Readonly<Record<BinaryName, string>>;

/** The Go package each binary is built from; the same ones `go.mod` lists as tools. */
export const goPackages: KubeBinaries = {
  etcd: "go.etcd.io/etcd/server/v3",
  "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
  kubectl: "k8s.io/kubernetes/cmd/kubectl",
  "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
};

/** The versions `go.mod` pins, each with its leading `v`. */
export interface Pins {
  readonly kubernetes: string;
  readonly etcd: string;
  /** Changes whenever anything that could change a binary does, so an old cache is never reused. */
  readonly cacheKey: string;
}

/** Reads the pins from `go.mod` and `go.sum`, the only place where they are written down. */
export function readPins(platform: Platform): Pins {
  const goMod = readFileSync(`${kubeModuleDir}/go.mod`, "utf8");
  const goSum = readFileSync(`${kubeModuleDir}/go.sum`, "utf8");
  const kubernetes = pinnedVersion(goMod, "k8s.io/kubernetes");
  const etcd = pinnedVersion(goMod, "go.etcd.io/etcd/server/v3");
  const digest = createHash("sha256").update(goMod).update(goSum).digest("hex").slice(0, 8);
  return { kubernetes, etcd, cacheKey: `${kubernetes}-${platform.os}-${platform.arch}-${digest}` };
}

function pinnedVersion(goMod: string, module: string): string {
  const line = goMod.split("\n").find((candidate) => candidate.trim().startsWith(`${module} v`));
  const version = line?.trim().split(" ")[1];
  if (version === undefined) throw new Error(`tools/kube/go.mod does not pin ${module}`);
  return version;
}

/** `v1.36.3` → `1.36`: what must agree between the pin and a binary that somebody else built. */
export function minorOf(version: string): string {
  return version.replace(/^v/, "").split(".").slice(0, 2).join(".");
}

/** `v3.6.8` → `3`. */
export function majorOf(version: string): string {
  return version.replace(/^v/, "").split(".")[0] ?? version;
}

/** Operating system and architecture in Go's and Kubernetes' spelling. */
export interface Platform {
  readonly os: string;
  readonly arch: string;
}

/** The platform this process runs on. */
export function currentPlatform(): Platform {
  return {
    os: process.platform === "win32" ? "windows" : process.platform,
    arch: process.arch === "x64" ? "amd64" : process.arch,
  };
}
