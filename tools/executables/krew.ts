import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import type { ReleaseNames } from "../generate/release-names.ts";
import { programName, type System, systems } from "./systems.ts";

/** krew requires that the file has the name of the plugin. */
export const krewFile = "coder.yaml";

export function archiveName({ os, arch }: System): string {
  return `kubectl-coder-${os}-${arch}.tar.gz`;
}

/** The manifest by which krew installs the plugin from the files of a release. */
export async function krewManifest({ version, repository }: ReleaseNames, folder: string): Promise<string> {
  const platforms = systems.map(async (system) => {
    const file = archiveName(system);
    const content = await readFile(join(folder, file));
    return {
      selector: { matchLabels: { os: system.os, arch: system.arch } },
      uri: `${repository}/releases/download/v${version}/${file}`,
      sha256: createHash("sha256").update(content).digest("hex"),
      bin: programName(system),
      files: [programName(system), "LICENSE", "licenses.txt"].map((from) => ({ from, to: "." })),
    };
  });
  return stringify(
    {
      apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
      kind: "Plugin",
      metadata: { name: "coder" },
      spec: {
        version: `v${version}`,
        homepage: repository,
        shortDescription: "Inspect and manage Coder on Kubernetes",
        description:
          "Shows control planes, provisioners and workspace proxies of the operator coder-k8s, explains why builds wait, imports Helm releases of Coder, and collects data for bug reports. It uses your own kubeconfig and permissions.\n",
        platforms: await Promise.all(platforms),
      },
    },
    { lineWidth: 0 },
  );
}
