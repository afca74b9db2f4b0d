import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import manifest from "../../package.json" with { type: "json" };
import { bundle, nodeFlags, releaseFile } from "../build/bundle.ts";
import type { ReleaseNames } from "../generate/release-names.ts";
import { type Architecture, architectureOf } from "./architecture.ts";
import type { Commit } from "./commit.ts";
import { type Component, packagesIn } from "./components.ts";
import { billOfMaterials, licenseNotices, type Subject } from "./documents.ts";
import { layerOf, type PlatformImage, type RunConfig, writeLayout } from "./oci.ts";
import { type Runtime, type RuntimeSource, runtimeFor } from "./runtime.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const PROGRAM = basename(releaseFile);

/** The inputs and the output of a build. */
export interface ImageOptions extends RuntimeSource {
  readonly platforms: readonly string[];
  readonly names: ReleaseNames;
  readonly commit: Commit | undefined;
  /** A folder; gets `oci`, and a bill of materials and license texts for every platform. */
  readonly out: string;
}

/** The operator's own files and their third-party parts. */
interface Application {
  readonly program: Buffer;
  readonly subject: Subject;
  readonly components: readonly Component[];
}

/**
 * Builds the operator's image as an OCI layout, without a container engine, and returns its digest. The build
 * is reproducible: the same commit and the same runtime produce the same digest.
 */
export async function buildImage(options: ImageOptions): Promise<string> {
  const architectures = options.platforms.map(architectureOf);
  const application = await buildApplication(options.names);
  await mkdir(options.out, { recursive: true });
  const images: PlatformImage[] = [];
  for (const architecture of architectures) {
    const runtime = await runtimeFor(architecture, options);
    images.push(await platformImage(architecture, runtime, { application, options }));
  }
  const { image, version } = options.names;
  return writeLayout(join(options.out, "oci"), images, { name: image, tag: version });
}

async function buildApplication({ version }: ReleaseNames): Promise<Application> {
  const scratch = await mkdtemp(join(tmpdir(), "coder-k8s-image-"));
  try {
    const file = join(scratch, PROGRAM);
    const { inputs } = await bundle(file, { version });
    const { name, license } = manifest;
    const licenseText = await readFile(join(root, "LICENSE"), "utf8");
    return {
      program: await readFile(file),
      subject: { name, version, license, licenseText },
      components: packagesIn(inputs, root),
    };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function platformImage(
  { name }: Architecture,
  runtime: Runtime,
  { application, options }: { application: Application; options: ImageOptions },
): Promise<PlatformImage> {
  const { program, subject } = application;
  const components = [...application.components, ...runtime.components];
  const bill = billOfMaterials(subject, components);
  const licenses = licenseNotices(subject, components);
  await writeFile(join(options.out, `linux-${name}.cdx.json`), bill);
  await writeFile(join(options.out, `linux-${name}.licenses.txt`), licenses);
  const files = { [PROGRAM]: program, "sbom.cdx.json": bill, "licenses.txt": licenses };
  const layer = await layerOf(
    Object.entries(files).map(([file, content]) => ({
      type: "file",
      path: `app/${file}`,
      content: Buffer.from(content),
    })),
  );
  return {
    architecture: name,
    layers: [...runtime.layers, layer],
    config: runConfig(runtime, options),
    created: options.commit?.time,
  };
}

/** The same as in the Dockerfile. The user is numeric, so that Kubernetes can verify that it is not root. */
function runConfig({ env }: Runtime, options: ImageOptions): RunConfig {
  return {
    User: "65532:65532",
    WorkingDir: "/app",
    Entrypoint: ["/nodejs/bin/node", ...nodeFlags, `/app/${PROGRAM}`],
    Cmd: ["controller"],
    Env: env,
    ExposedPorts: { "8080/tcp": {}, "8081/tcp": {} },
    Labels: labels(options),
  };
}

function labels({ names, commit }: ImageOptions): Record<string, string> {
  const { name, description, license } = manifest;
  const facts = {
    title: name,
    description,
    source: names.repository,
    version: names.version,
    licenses: license,
    ...(commit && { revision: commit.revision, created: commit.time }),
  };
  const named = Object.entries(facts).map(([key, value]) => [`org.opencontainers.image.${key}`, value]);
  return Object.fromEntries(named) as Record<string, string>;
}
