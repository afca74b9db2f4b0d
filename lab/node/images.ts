import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { currentPlatform, type Log } from "kube-controller-runtime/testing/binaries";
import type { LocalNode } from "kube-controller-runtime/testing/node";
import { readPins } from "../../tools/coder/pins.ts";
import { coderImages } from "../../tools/coder-image/image.ts";
import { releaseNames } from "../../tools/generate/release-names.ts";
import { currentCommit } from "../../tools/image/commit.ts";
import { buildImage } from "../../tools/image/image.ts";

/**
 * Builds the operator's image from this checkout, like `make image`, and loads it into the node; returns its
 * name.
 */
export async function loadOperator(node: LocalNode, log: Log): Promise<string> {
  const names = releaseNames({});
  const out = await mkdtemp(join(tmpdir(), "coder-k8s-node-"));
  try {
    const platforms = [`linux/${currentPlatform().arch}`];
    const commit = await currentCommit();
    await buildImage({ platforms, base: undefined, sysroot: undefined, names, commit, out, log });
    await node.importImage(join(out, "oci"));
    return `${names.image}:${names.version}`;
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}

/** The names of the images of the current and the older Coder, in the given registry and folder. */
export function coderNames(prefix = "ghcr.io/coder"): { readonly current: string; readonly older: string } {
  const { binaries } = readPins(currentPlatform());
  const name = (which: "coder" | "coder-old") => `${prefix}/coder:${binaries[which].version}`;
  return { current: name("coder"), older: name("coder-old") };
}

/** Loads the images of the current and the older Coder, after building missing ones; returns their names. */
export async function loadCoder(node: LocalNode): Promise<string[]> {
  const { current, older } = await coderImages();
  for (const { file } of [current, older]) await node.importImage(file);
  return [current.name, older.name];
}
