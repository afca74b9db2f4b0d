import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type TarEntry, tarChunks, writeTar } from "./tar.ts";

const TYPES = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
  plainLayer: "application/vnd.oci.image.layer.v1.tar",
} as const;

/** Affects the digest of every layer, so do not change it without need. */
const GZIP_LEVEL = 6;

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly os: string; readonly architecture: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A blob with its descriptor. */
interface Blob {
  readonly descriptor: Descriptor;
  readonly content: Buffer;
}

/** A layer; `diffId` is the digest of the uncompressed archive. */
export interface Layer extends Blob {
  readonly diffId: string;
}

/** The run configuration of the image specification. */
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

/** Packs files into a layer; the digest is reproducible. */
export async function layerOf(entries: readonly TarEntry[]): Promise<Layer> {
  const archive = writeTar(entries);
  const content: Buffer = await promisify(gzip)(archive, { level: GZIP_LEVEL });
  return { ...blob(TYPES.layer, content), diffId: digestOf(archive) };
}

/** A layer without compression, for a local image: it is packed and unpacked in seconds. */
export function plainLayerOf(entries: readonly TarEntry[]): Layer {
  const archive = blob(TYPES.plainLayer, writeTar(entries));
  return { ...archive, diffId: archive.descriptor.digest };
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

/** The name and the tag of a layout. */
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
  return writeBlobs(dir, layoutBlobs(images), reference);
}

/** Writes the same layout as one file, for `ctr images import`; returns the image's digest. */
export async function writeArchive(
  file: string,
  images: readonly PlatformImage[],
  reference: Reference,
): Promise<string> {
  const { digest, files } = layoutOf(layoutBlobs(images), reference);
  const entries = files.map(({ path, content }): TarEntry => ({ type: "file", path, content }));
  await mkdir(dirname(file), { recursive: true });
  await pipeline(Readable.from(tarChunks(entries)), createWriteStream(file));
  return digest;
}

/** The blobs of an image for several platforms, its index last. */
function layoutBlobs(images: readonly PlatformImage[]): Blob[] {
  const blobs = images.map(imageBlobs);
  const manifests = images.map(({ architecture }, index) => {
    const manifest = blobs[index]?.at(-1)?.descriptor;
    return { ...manifest, platform: { os: "linux", architecture } };
  });
  const labels = images[0]?.config.Labels ?? {};
  const index = { schemaVersion: 2, mediaType: TYPES.index, manifests, annotations: labels };
  return [...blobs.flat(), jsonBlob(TYPES.index, index)];
}

/** A registry artifact other than an image: a configuration and a file, each with its own media type. */
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

/** Replaces the content of the folder by these blobs. */
async function writeBlobs(dir: string, blobs: readonly Blob[], reference: Reference): Promise<string> {
  const { digest, files } = layoutOf(blobs, reference);
  await rm(dir, { recursive: true, force: true });
  await mkdir(join(dir, "blobs/sha256"), { recursive: true });
  for (const { path, content } of files) await writeFile(join(dir, path), content);
  return digest;
}

/** The files of a layout; the last blob is its subject. */
function layoutOf(blobs: readonly Blob[], { name, tag }: Reference) {
  const top = blobs.at(-1)?.descriptor;
  if (top === undefined) throw new Error("a layout needs a blob");
  const annotations = {
    "org.opencontainers.image.ref.name": tag,
    // The name of the image in containerd, and so in kind and k3s, after an import.
    "io.containerd.image.name": `${name}:${tag}`,
  };
  const entry = { schemaVersion: 2, mediaType: TYPES.index, manifests: [{ ...top, annotations }] };
  const json = (path: string, value: object) => ({ path, content: Buffer.from(JSON.stringify(value)) });
  const files = [
    ...blobs.map(({ descriptor, content }) => ({
      path: join("blobs", descriptor.digest.replace(":", "/")),
      content,
    })),
    json("index.json", entry),
    json("oci-layout", { imageLayoutVersion: "1.0.0" }),
  ];
  return { digest: top.digest, files };
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
