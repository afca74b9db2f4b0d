import { createHash } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type TarEntry, writeTar } from "./tar.ts";

const TYPES = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
} as const;

/** Part of the digest of every layer, so never change it without need. */
const GZIP_LEVEL = 6;

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly os: string; readonly architecture: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A blob, and the descriptor that others refer to it with. */
interface Blob {
  readonly descriptor: Descriptor;
  readonly content: Buffer;
}

/** A file system change; `diffId` is the digest of the archive before compression. */
export interface Layer extends Blob {
  readonly diffId: string;
}

/** How a container of the image runs, in the words of the image specification. */
export interface RunConfig {
  readonly User: string;
  readonly WorkingDir: string;
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly Env: readonly string[];
  readonly ExposedPorts: Readonly<Record<string, object>>;
  readonly Labels: Readonly<Record<string, string>>;
}

/** An image for one platform. */
export interface PlatformImage {
  readonly architecture: string;
  readonly layers: readonly Layer[];
  readonly config: RunConfig;
  readonly created: string | undefined;
}

/** Packs files into a layer; the same files give the same digest. */
export async function layerOf(entries: readonly TarEntry[]): Promise<Layer> {
  const archive = writeTar(entries);
  const content: Buffer = await promisify(gzip)(archive, { level: GZIP_LEVEL });
  return { ...blob(TYPES.layer, content), diffId: digestOf(archive) };
}

/** The blobs of an image, its manifest last. */
function imageBlobs({ architecture, layers, config, created }: PlatformImage): Blob[] {
  const settings = jsonBlob(TYPES.config, {
    ...(created && { created }),
    architecture,
    os: "linux",
    config,
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
  });
  const manifest = jsonBlob(TYPES.manifest, {
    schemaVersion: 2,
    mediaType: TYPES.manifest,
    config: settings.descriptor,
    layers: layers.map(({ descriptor }) => descriptor),
    annotations: config.Labels,
  });
  return [...layers, settings, manifest];
}

/** What a layout is found by. */
export interface Reference {
  readonly name: string;
  readonly tag: string;
}

/** Writes an OCI layout with one image for several platforms; returns the image's digest. */
export async function writeLayout(
  dir: string,
  images: readonly PlatformImage[],
  reference: Reference,
): Promise<string> {
  const blobs = images.map(imageBlobs);
  const manifests = images.map(({ architecture }, index) => {
    const manifest = blobs[index]?.at(-1)?.descriptor;
    return { ...manifest, platform: { os: "linux", architecture } };
  });
  const labels = images[0]?.config.Labels ?? {};
  const index = { schemaVersion: 2, mediaType: TYPES.index, manifests, annotations: labels };
  return writeBlobs(dir, [...blobs.flat(), jsonBlob(TYPES.index, index)], reference);
}

/** Something in a registry that is no image: a description and a file, each of a type of its own. */
export interface Artifact {
  readonly config: { readonly mediaType: string; readonly content: object };
  readonly file: { readonly mediaType: string; readonly content: Buffer };
  readonly annotations: Readonly<Record<string, string>>;
}

/** Writes an OCI layout with one artifact; returns its digest. */
export async function writeArtifact(
  dir: string,
  { config, file, annotations }: Artifact,
  reference: Reference,
): Promise<string> {
  const description = jsonBlob(config.mediaType, config.content);
  const content = blob(file.mediaType, file.content);
  const manifest = jsonBlob(TYPES.manifest, {
    schemaVersion: 2,
    mediaType: TYPES.manifest,
    config: description.descriptor,
    layers: [content.descriptor],
    annotations,
  });
  return writeBlobs(dir, [description, content, manifest], reference);
}

/** The folder then has these blobs alone; the last one is what the layout is about. */
async function writeBlobs(dir: string, blobs: readonly Blob[], { name, tag }: Reference): Promise<string> {
  const top = blobs.at(-1)?.descriptor;
  if (top === undefined) throw new Error("a layout needs a blob");
  const annotations = {
    "org.opencontainers.image.ref.name": tag,
    // What containerd, and so kind and k3s, call the image after an import.
    "io.containerd.image.name": `${name}:${tag}`,
  };
  const entry = { schemaVersion: 2, mediaType: TYPES.index, manifests: [{ ...top, annotations }] };
  await rm(dir, { recursive: true, force: true });
  await mkdir(join(dir, "blobs/sha256"), { recursive: true });
  for (const { descriptor, content } of blobs) {
    await writeFile(join(dir, "blobs", descriptor.digest.replace(":", "/")), content);
  }
  await writeFile(join(dir, "index.json"), JSON.stringify(entry));
  await writeFile(join(dir, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  return top.digest;
}

export function digestOf(content: Buffer): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}

function jsonBlob(mediaType: string, value: object): Blob {
  return blob(mediaType, Buffer.from(JSON.stringify(value)));
}

function blob(mediaType: string, content: Buffer): Blob {
  return { descriptor: { mediaType, digest: digestOf(content), size: content.length }, content };
}
