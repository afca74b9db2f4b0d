import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Architecture } from "./architecture.ts";
import { type Descriptor, digestOf, type Layer } from "./oci.ts";

/** What an image inherits from its base. */
export interface Base {
  readonly layers: readonly Layer[];
  readonly env: readonly string[];
}

interface Manifest {
  readonly manifests?: readonly Descriptor[];
  readonly config?: Descriptor;
  readonly layers?: readonly Descriptor[];
}

interface Config {
  readonly architecture: string;
  readonly config?: { readonly Env?: readonly string[] };
  readonly rootfs: { readonly diff_ids: readonly string[] };
}

/** Reads the image for an architecture from an OCI layout. Throws if a blob does not match its digest. */
export async function readBase(layout: string, { name }: Architecture): Promise<Base> {
  const index = JSON.parse(await readFile(join(layout, "index.json"), "utf8")) as Manifest;
  const found = await imageIn(layout, index, name);
  if (found === undefined) throw new Error(`${layout} has no image for linux/${name}`);
  const { manifest, config } = found;
  const layers = (manifest.layers ?? []).map(async (descriptor, at): Promise<Layer> => {
    const diffId = config.rootfs.diff_ids[at];
    if (diffId === undefined) throw new Error(`${layout} has more layers than its configuration`);
    return { descriptor, diffId, content: await readBlob(layout, descriptor) };
  });
  return { layers: await Promise.all(layers), env: config.config?.Env ?? [] };
}

/** An index may refer to other indexes, and the configuration of an image contains its platform. */
async function imageIn(
  layout: string,
  manifest: Manifest,
  architecture: string,
): Promise<{ manifest: Manifest; config: Config } | undefined> {
  if (manifest.config !== undefined) {
    const config = (await readJson(layout, manifest.config)) as Config;
    return config.architecture === architecture ? { manifest, config } : undefined;
  }
  for (const descriptor of manifest.manifests ?? []) {
    const { platform } = descriptor;
    if (platform !== undefined && platform.architecture !== architecture) continue;
    const found = await imageIn(layout, (await readJson(layout, descriptor)) as Manifest, architecture);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function readJson(layout: string, descriptor: Descriptor): Promise<unknown> {
  return JSON.parse((await readBlob(layout, descriptor)).toString("utf8"));
}

async function readBlob(layout: string, { digest }: Descriptor): Promise<Buffer> {
  const content = await readFile(join(layout, "blobs", digest.replace(":", "/")));
  if (digestOf(content) !== digest) throw new Error(`${layout} is damaged: a blob does not match ${digest}`);
  return content;
}
