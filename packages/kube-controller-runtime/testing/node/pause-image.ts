import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { PAUSE_IMAGE } from "./settings.ts";

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

/** Writes an OCI layout of the pause image, which consists of one program. */
export async function writePauseImage(pause: string, dir: string): Promise<void> {
  const blobs = join(dir, "blobs", "sha256");
  const root = join(dir, "..", "pause-root");
  await mkdir(blobs, { recursive: true });
  await mkdir(root, { recursive: true });
  await copyFile(pause, join(root, "pause"));
  const archive = join(root, "..", "pause-layer.tar");
  await promisify(execFile)("tar", ["--create", "--file", archive, "--directory", root, "pause"]);
  const store = async (mediaType: string, content: Buffer) => {
    const hex = createHash("sha256").update(content).digest("hex");
    await writeFile(join(blobs, hex), content);
    return {
      mediaType: `application/vnd.oci.image.${mediaType}`,
      digest: `sha256:${hex}`,
      size: content.length,
    };
  };
  const json = (value: object) => Buffer.from(JSON.stringify(value));
  const layer = await store("layer.v1.tar", await readFile(archive));
  const config = await store(
    "config.v1+json",
    json({
      os: "linux",
      architecture: ARCHITECTURES[process.arch] ?? process.arch,
      config: { Entrypoint: ["/pause"], User: "65535:65535" },
      rootfs: { type: "layers", diff_ids: [layer.digest] },
    }),
  );
  const manifest = await store("manifest.v1+json", json({ schemaVersion: 2, config, layers: [layer] }));
  const annotations = { "io.containerd.image.name": PAUSE_IMAGE };
  await writeFile(
    join(dir, "index.json"),
    json({ schemaVersion: 2, manifests: [{ ...manifest, annotations }] }),
  );
  await writeFile(join(dir, "oci-layout"), json({ imageLayoutVersion: "1.0.0" }));
}
