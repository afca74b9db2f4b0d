import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { binaryCache, userCache } from "../binaries/cache.ts";
import { buildBinaries, type GoBinary, GoMissingError } from "../binaries/go-build.ts";
import { readGoModule } from "../binaries/go-module.ts";
import { currentPlatform } from "../binaries/platform.ts";
import { cachedBinaries, type Found as FoundOf, type Place, preparedBinaries } from "../binaries/prepared.ts";
import type { Log } from "../binaries/progress.ts";
import { readPins } from "../kube/pins.ts";

const binaryNames = ["kubelet", "kube-proxy", "kube-scheduler", "dns", "pause"] as const;
type BinaryName = (typeof binaryNames)[number];
type Found = FoundOf<BinaryName>;

/** Absolute path of every binary of a node, in addition to those of a local cluster. */
export type NodeBinaries = Readonly<Record<BinaryName, string>>;

/** The environment for finding the binaries. */
export interface NodeBinariesContext {
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
}

/**
 * Finds kubelet, kube-proxy, kube-scheduler and the node's own programs in the per-user cache, or builds them
 * from Go modules. May be called concurrently by several processes.
 */
export async function nodeBinaries(context: NodeBinariesContext = defaultContext()): Promise<NodeBinaries> {
  const found = await preparedBinaries(binaryNames, {
    ...context,
    folder: folder(),
    what: "the binaries of a node",
    make: (missing, place) => make(missing, place, context),
  });
  return found as NodeBinaries;
}

/** Whether all of them are in the cache, for callers that should not wait for a build. */
export async function hasNodeBinaries(env = process.env): Promise<boolean> {
  const found = await cachedBinaries(binaryNames, binaryCache(join(userCache(env), folder())));
  return binaryNames.every((name) => found[name] !== undefined);
}

function defaultContext(): NodeBinariesContext {
  return { env: process.env, log: (line) => console.error(`node: ${line}`) };
}

/** A different folder for each version of the programs. */
function folder(): string {
  return join(
    "kube-controller-runtime",
    "node",
    `${readPins(currentPlatform()).cacheKey}-${ownModule().digest}`,
  );
}

function ownModule() {
  return readGoModule(fileURLToPath(new URL("programs", import.meta.url)));
}

function goBinary(name: BinaryName): GoBinary {
  if (name === "dns" || name === "pause") {
    const module = ownModule();
    const version = module.versionOf("github.com/coredns/coredns");
    return { name, module, package: `./${name}`, version, stamp: `main.version=${version}` };
  }
  const { module, kubernetes } = readPins(currentPlatform());
  return {
    name,
    module,
    package: `k8s.io/kubernetes/cmd/${name}`,
    version: kubernetes,
    stamp: `k8s.io/component-base/version.gitVersion=${kubernetes}`,
  };
}

async function make(
  missing: readonly BinaryName[],
  { scratch, cache }: Place,
  context: NodeBinariesContext,
): Promise<Found> {
  const made: Found = {};
  const binaries = missing.map(goBinary);
  for (const dir of new Set(binaries.map(({ module }) => module.dir))) {
    const ofModule = binaries.filter(({ module }) => module.dir === dir);
    await buildBinaries(ofModule, scratch, context).catch((cause) => {
      throw cause instanceof GoMissingError ? goNeeded(missing, cause) : cause;
    });
    for (const { name } of ofModule) made[name as BinaryName] = await cache.store(name, join(scratch, name));
  }
  return made;
}

function goNeeded(missing: readonly BinaryName[], cause: GoMissingError): Error {
  return new Error(`${missing.join(", ")} are built with Go, which is not installed: install Go.`, { cause });
}
