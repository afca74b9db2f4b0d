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

/** The name in Coder's own registry, so that manifests for any cluster work as they are. */
const NAME = "ghcr.io/coder/coder";

/** What packing the images needs from the outside. */
interface CoderImagesContext {
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
}

/** An image as a file that `ctr images import` takes. */
interface ImageArchive {
  /** What the image is called after the import, as in `ghcr.io/coder/coder:v2.36.1`. */
  readonly name: string;
  /** An OCI layout in one file. */
  readonly file: string;
}

/** The image of the current Coder, and that of the older one to upgrade from. */
export interface CoderImages {
  readonly current: ImageArchive;
  readonly older: ImageArchive;
}

/** An image that is not packed yet. */
interface Plan {
  readonly version: string;
  readonly architecture: string;
  readonly layers: readonly (readonly SourceFile[])[];
  /** Changes whenever anything that goes into the image does. */
  readonly digest: string;
}

/**
 * Packs the Coders that `coderBinaries` finds as images for this machine's architecture, with Terraform and the
 * providers for Coder and Kubernetes in them. Archives are kept in the per-user cache. Any number of processes may call
 * this at once.
 */
export async function coderImages(context: CoderImagesContext = defaultContext()): Promise<CoderImages> {
  return { current: await coderImage("coder", context), older: await coderImage("coder-old", context) };
}

/** Packs one of them, and builds no other. */
export async function coderImage(
  name: "coder" | "coder-old",
  context: CoderImagesContext = defaultContext(),
): Promise<ImageArchive> {
  const platform = currentPlatform();
  const { os, arch } = platform;
  if (os !== "linux")
    throw new Error(`a Coder image contains programs that are built here, and this is ${os}: use Linux`);
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

/** Whether all that the images contain is on this machine: callers that can do without them do not wait for builds. */
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

/** Paths in the per-user cache name the pins of what they contain, so they stand for the content. */
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
  if (file === undefined) throw new Error(`${name} was packed but is nowhere`);
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

/** As in Coder's own image. `HOME` is left to the runtime, which knows it from the user that the container has. */
function runConfig(version: string): RunConfig {
  return {
    User: "1000:1000",
    WorkingDir: "/home/coder",
    Entrypoint: ["/opt/coder", "server"],
    Cmd: [],
    // The Kubernetes provider of this age takes the pod's ServiceAccount only when it is told to look for no kubeconfig.
    Env: ["PATH=/usr/local/bin:/usr/bin:/bin:/opt", "KUBE_LOAD_CONFIG_FILE=false"],
    ExposedPorts: { "7080/tcp": {} },
    Labels: { "org.opencontainers.image.title": "coder", "org.opencontainers.image.version": version },
  };
}
