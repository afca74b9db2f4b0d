import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { type Descriptor, digestOf, type RunConfig } from "../../tools/image/oci.ts";
import { readTar, type TarEntry } from "../../tools/image/tar.ts";

/** An image for one platform, read from a layout. */
export interface LaidOutImage {
  readonly architecture: string;
  readonly config: RunConfig;
  /** Of all layers, lower ones first. */
  readonly entries: readonly TarEntry[];
}

interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

/**
 * Reads all images of an OCI layout as a registry's client would, and fails where a digest, a size, a platform or a
 * layer's `diff_id` is not what the referring document says.
 */
export function readLayout(dir: string): LaidOutImage[] {
  const blob = ({ digest, size }: Descriptor): Buffer => {
    const content = readFileSync(join(dir, "blobs", digest.replace(":", "/")));
    if (digestOf(content) !== digest) throw new Error(`${digest} has another content`);
    if (content.length !== size) throw new Error(`${digest} has another size`);
    return content;
  };
  const json = (descriptor: Descriptor) => JSON.parse(blob(descriptor).toString());
  const { manifests } = JSON.parse(readFileSync(join(dir, "index.json"), "utf8"));
  const platforms: Descriptor[] = manifests.flatMap((index: Descriptor) => json(index).manifests);
  return platforms.map((descriptor) => {
    const { config, layers }: Manifest = json(descriptor);
    const settings = json(config);
    const archives = layers.map((layer) =>
      layer.mediaType.endsWith("+gzip") ? gunzipSync(blob(layer)) : blob(layer),
    );
    if (archives.map(digestOf).join() !== settings.rootfs.diff_ids.join()) {
      throw new Error("a layer is not what the configuration says");
    }
    if (settings.architecture !== descriptor.platform?.architecture) {
      throw new Error("the index and the configuration name different platforms");
    }
    return {
      architecture: settings.architecture,
      config: settings.config,
      entries: archives.flatMap((archive) => readTar(archive)),
    };
  });
}

/** Writes an image's files into an existing folder, as a container's root. */
export function unpack({ entries }: LaidOutImage, root: string): void {
  for (const entry of entries) {
    const path = join(root, entry.path);
    if (entry.type === "directory") mkdirSync(path, { recursive: true });
    else if (entry.type === "link") symlinkSync(entry.to, path);
    else writeFileSync(path, entry.content);
    // Not by the call that makes it, which the process's umask would weaken.
    if (entry.type !== "link") chmodSync(path, entry.mode ?? 0);
  }
}
