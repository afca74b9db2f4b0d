import type { Log } from "kube-controller-runtime/testing/binaries";
import type { Architecture } from "./architecture.ts";
import { readBase } from "./base.ts";
import { type Component, libraryComponents, nodeComponent } from "./components.ts";
import { type Library, LibraryMissingError, librariesFor } from "./libraries.ts";
import { nodeFiles } from "./node-package.ts";
import { type Layer, layerOf } from "./oci.ts";
import { withPackages } from "./packages.ts";
import type { TarEntry } from "./tar.ts";

/** The part of the image below the operator. */
export interface Runtime {
  readonly layers: readonly Layer[];
  readonly env: readonly string[];
  /** Components that this build adds; a base image lists its own. */
  readonly components: readonly Component[];
}

/** The source of a runtime. */
export interface RuntimeSource {
  /** An OCI layout with Node.js at /nodejs/bin/node. Without it, the runtime is assembled. */
  readonly base: string | undefined;
  /**
   * The root of a file system with the libraries that Node.js needs. Defaults to that of the machine and, for
   * another architecture, packages of its distribution.
   */
  readonly sysroot: string | undefined;
  readonly log: Log;
}

/** Takes the runtime of an architecture from the base, or assembles it from Node.js and its libraries. */
export async function runtimeFor(
  architecture: Architecture,
  { base, sysroot, log }: RuntimeSource,
): Promise<Runtime> {
  if (base !== undefined) return { ...(await readBase(base, architecture)), components: [] };
  const { executable, license } = await nodeFiles(architecture, log);
  const libraries = await findLibraries(executable, architecture, sysroot);
  return {
    layers: [await layerOf(systemFiles(executable, libraries, architecture))],
    env: ["PATH=/nodejs/bin"],
    components: [nodeComponent(executable, license), ...libraryComponents(libraries)],
  };
}

async function findLibraries(
  executable: Buffer,
  architecture: Architecture,
  sysroot: string | undefined,
): Promise<Library[]> {
  const under = (root: string) => librariesFor(executable, { sysroot: root, architecture });
  if (sysroot !== undefined) return under(sysroot);
  return under("/").catch(async (missing) => {
    if (!(missing instanceof LibraryMissingError)) throw missing;
    return withCrossPackages(architecture, process.env, under).catch((cause) => {
      throw new Error(missing.message, { cause });
    });
  });
}

/** Files that the kernel, Node.js and glibc expect in a system; runtimes mount over the empty folders. */
function systemFiles(
  node: Buffer,
  libraries: readonly Library[],
  { triplet, links }: Architecture,
): TarEntry[] {
  const file = (path: string, content: Buffer | string, mode = 0o644): TarEntry => ({
    type: "file",
    path,
    content: Buffer.from(content),
    mode,
  });
  return [
    ...["dev", "home/nonroot", "proc", "sys"].map((path): TarEntry => ({ type: "directory", path })),
    { type: "directory", path: "tmp", mode: 0o1777 },
    file("etc/passwd", "root:x:0:0:root:/:/none\nnonroot:x:65532:65532:nonroot:/home/nonroot:/none\n"),
    file("etc/group", "root:x:0:\nnonroot:x:65532:\n"),
    file("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
    file("nodejs/bin/node", node, 0o755),
    ...libraries.map(({ name, content }) => file(`lib/${triplet}/${name}`, content, 0o755)),
    ...Object.entries(links).map(([path, to]): TarEntry => ({ type: "link", path, to })),
  ];
}

/** The libraries of Node.js, as packages of Debian and Ubuntu. */
const PACKAGES = ["libc6", "libgcc-s1", "libstdc++6"];

/**
 * Provides the root of a file system with the libraries of another architecture: the cross-compiler packages
 * of the machine's distribution. Throws if there is no apt.
 */
export async function withCrossPackages<T>(
  { name }: Architecture,
  env: NodeJS.ProcessEnv,
  use: (sysroot: string) => Promise<T>,
): Promise<T> {
  return withPackages(
    PACKAGES.map((each) => `${each}-${name}-cross`),
    env,
    use,
  );
}
