import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  currentPlatform,
  type Log,
  type Place,
  preparedBinaries,
} from "kube-controller-runtime/testing/binaries";
import { cachedCoderBinaries, coderBinaries } from "../coder/binaries.ts";
import { readPins } from "../coder/pins.ts";
import { architectureOf } from "../image/architecture.ts";
import { plainLayerOf, type RunConfig, writeArchive } from "../image/oci.ts";
import type { TarEntry } from "../image/tar.ts";
import { hasTerraformProviders, terraformProviders } from "../terraform/providers.ts";
import { busyboxFile } from "./busybox.ts";
import { coderFiles, type SourceFile, systemFiles, terraformFiles } from "./files.ts";

/** The name in Coder's own registry, so that manifests work unchanged in any cluster. */
const NAME = "ghcr.io/coder/coder";

/** The environment for building the images. */
interface CoderImagesContext {
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
}

/** An image as a file for `ctr images import`. */
interface ImageArchive {
  /** The name of the image after the import, for example `ghcr.io/coder/coder:v2.36.1`. */
  readonly name: string;
  /** An OCI layout in one file. */
  readonly file: string;
}

/** The images of the current Coder, and of the older one to upgrade from. */
export interface CoderImages {
  readonly current: ImageArchive;
  readonly older: ImageArchive;
}

/** An image before it is built. */
interface Plan {
  readonly version: string;
  readonly architecture: string;
  readonly layers: readonly (readonly SourceFile[])[];
  /** Changes with every part of the image. */
  readonly digest: string;
}

/**
 * Builds images of the Coders that `coderBinaries` finds for this machine's architecture, with Terraform and
 * the providers for Coder and Kubernetes. Archives are stored in the per-user cache. May be called
 * concurrently by several processes.
 */
export async function coderImages(context: CoderImagesContext = defaultContext()): Promise<CoderImages> {
  return { current: await coderImage("coder", context), older: await coderImage("coder-old", context) };
}

/** Builds only one of them. */
export async function coderImage(
  name: "coder" | "coder-old",
  context: CoderImagesContext = defaultContext(),
): Promise<ImageArchive> {
  const platform = currentPlatform();
  const { os, arch } = platform;
  if (os !== "linux")
    throw new Error(
      `a Coder image contains programs that are built on this machine, which runs ${os}: use Linux`,
    );
  const busybox = await busyboxFile(architectureOf(arch), context);
  const binaries = await coderBinaries(context, [name, "terraform"]);
  const providers = await terraformProviders(context);
  const layers = [
    systemFiles(busybox),
    terraformFiles(binaries.terraform, { providers, architecture: arch }),
    coderFiles(binaries[name], arch),
  ];
  const { version } = readPins(platform).binaries[name];
  return packed({ version, architecture: arch, layers, digest: digestOf(layers) }, context);
}

/** Whether all parts of the images are on this machine, for callers that should not wait for builds. */
export async function hasCoderImageParts(context: CoderImagesContext = defaultContext()): Promise<boolean> {
  const { env } = context;
  if ((await cachedCoderBinaries(env)) === undefined || !(await hasTerraformProviders(env))) return false;
  return busyboxFile(architectureOf(currentPlatform().arch), context).then(
    () => true,
    () => false,
  );
}

/** The machine's environment; progress goes to standard error. */
function defaultContext(): CoderImagesContext {
  return { env: process.env, log: (line) => console.error(`coder-image: ${line}`) };
}

/** Paths in the per-user cache contain the pins, so they identify the content. */
function digestOf(layers: Plan["layers"]): string {
  const outline = JSON.stringify([runConfig(""), layers]);
  return createHash("sha256").update(outline).digest("hex").slice(0, 8);
}

async function packed(plan: Plan, { env, log }: CoderImagesContext): Promise<ImageArchive> {
  const { version, architecture, digest } = plan;
  const name = `coder-${version}.tar`;
  const { [name]: file } = await preparedBinaries([name], {
    env,
    log,
    folder: join("coder-k8s", "coder-image", `${version}-linux-${architecture}-${digest}`),
    what: `the image of Coder ${version}`,
    make: async (_, place) => {
      log(`packing the image of Coder ${version}`);
      return { [name]: await pack(plan, name, place) };
    },
  });
  if (file === undefined) throw new Error(`${name} was packed but is missing`);
  return { name: `${NAME}:${version}`, file };
}

async function pack({ version, architecture, layers }: Plan, name: string, place: Place): Promise<string> {
  const file = join(place.scratch, name);
  const read = layers.map((files) => Promise.all(files.map(entryOf)).then(plainLayerOf));
  const image = {
    architecture,
    layers: await Promise.all(read),
    config: runConfig(version),
    created: undefined,
  };
  await writeArchive(file, [image], { name: NAME, tag: version });
  return place.cache.store(name, file);
}

async function entryOf(source: SourceFile): Promise<TarEntry> {
  if (source.type !== "copy") return source;
  const { from, path } = source;
  return { type: "file", path, content: await readFile(from), mode: 0o755 };
}

/** As in Coder's own image. `HOME` is set by the runtime for the container's user. */
function runConfig(version: string): RunConfig {
  return {
    User: "1000:1000",
    WorkingDir: "/home/coder",
    Entrypoint: ["/opt/coder", "server"],
    Cmd: [],
    // Kubernetes providers of this age only use the pod's ServiceAccount if they are told not to look for a
    // kubeconfig.
    Env: ["PATH=/usr/local/bin:/usr/bin:/bin:/opt", "KUBE_LOAD_CONFIG_FILE=false"],
    ExposedPorts: { "7080/tcp": {} },
    Labels: { "org.opencontainers.image.title": "coder", "org.opencontainers.image.version": version },
  };
}
