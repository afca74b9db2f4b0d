import { access } from "node:fs/promises";
import { join } from "node:path";
import { buildBinaries, GoMissingError } from "../binaries/go-build.ts";
import { currentPlatform } from "../binaries/platform.ts";
import { type Found as FoundOf, type Place, preparedBinaries } from "../binaries/prepared.ts";
import type { Log } from "../binaries/progress.ts";
import { majorOf, minorOf, reportedVersion } from "../binaries/version.ts";
import { type DownloadContext, downloadEnvtest, downloadRelease } from "./download.ts";
import { type BinaryName, binaryNames, goBinary, type KubeBinaries, type Pins, readPins } from "./pins.ts";

/** The environment for finding the binaries. */
export interface KubeBinariesContext {
  readonly env: NodeJS.ProcessEnv;
  readonly fetch: typeof fetch;
  readonly log: Log;
}

type Found = FoundOf<BinaryName>;
type Context = KubeBinariesContext & DownloadContext;

/**
 * Finds etcd, kube-apiserver, kubectl and kube-controller-manager in the version of `KUBE_VERSION`, by
 * default the newest pinned one. The sources are, in this order: `KUBEBUILDER_ASSETS`, the per-user cache,
 * official downloads, a build from Go modules. Each source only provides what the earlier ones lack.
 *
 * If several processes call this concurrently, one creates the binaries and the others wait.
 */
export async function kubeBinaries(context: KubeBinariesContext = defaultContext()): Promise<KubeBinaries> {
  const platform = currentPlatform();
  const full: Context = { ...context, platform, pins: readPins(platform, context.env.KUBE_VERSION) };
  const given = await givenBinaries(full);
  const missing = binaryNames.filter((name) => given[name] === undefined);
  if (missing.length === 0) return complete(given);
  return complete({ ...given, ...(await cachedBinaries(missing, full)) });
}

/** The machine's environment and network; progress goes to standard error. */
function defaultContext(): KubeBinariesContext {
  return { env: process.env, fetch, log: (line) => console.error(`kube: ${line}`) };
}

async function givenBinaries({ env, pins }: Context): Promise<Found> {
  const dir = env.KUBEBUILDER_ASSETS;
  if (!dir) return {};
  const found = await Promise.all(binaryNames.map((name) => ifExists(join(dir, name))));
  const given = Object.fromEntries(binaryNames.map((name, index) => [name, found[index]])) as Found;
  await Promise.all(entriesOf(given).map(([name, file]) => checkVersion(name, file, pins))).catch((cause) => {
    throw new Error(`KUBEBUILDER_ASSETS can't be used: ${cause.message}; unset or correct it`, { cause });
  });
  return given;
}

function cachedBinaries(wanted: readonly BinaryName[], context: Context): Promise<Found> {
  const { env, log, pins } = context;
  return preparedBinaries(wanted, {
    env,
    log,
    folder: join("kube-controller-runtime", pins.cacheKey),
    what: "the Kubernetes binaries",
    make: (missing, place) => make(missing, place, context),
  });
}

async function make(
  missing: readonly BinaryName[],
  { scratch, cache }: Place,
  context: Context,
): Promise<Found> {
  const made: Found = {};
  const keep = async (name: BinaryName, file: string) => {
    await checkVersion(name, file, context.pins);
    made[name] = await cache.store(name, file);
  };
  const offline = await download(missing, { scratch, keep, context });
  const rest = missing.filter((name) => made[name] === undefined);
  if (rest.length === 0) return made;
  const binaries = rest.map((name) => goBinary(name, context.pins));
  await buildBinaries(binaries, scratch, context).catch((cause) => {
    throw cause instanceof GoMissingError ? nothingWorks(missing, offline, cause) : cause;
  });
  for (const name of rest) await keep(name, join(scratch, name));
  return made;
}

interface Making {
  readonly scratch: string;
  readonly keep: (name: BinaryName, file: string) => Promise<void>;
  readonly context: Context;
}

/** Stores what can be downloaded and returns why the rest could not be. */
async function download(missing: readonly BinaryName[], making: Making): Promise<unknown> {
  const { scratch, keep, context } = making;
  try {
    const unpacked = await downloadEnvtest(scratch, context);
    for (const name of unpacked.filter((candidate) => missing.includes(candidate))) {
      await keep(name, join(scratch, name));
    }
    for (const name of missing.filter((candidate) => !unpacked.includes(candidate))) {
      await keep(name, await downloadRelease(name, scratch, context));
    }
    return undefined;
  } catch (reason) {
    context.log(`no official download (${rootMessage(reason)}): using Go`);
    return reason;
  }
}

function nothingWorks(missing: readonly BinaryName[], offline: unknown, cause: GoMissingError): Error {
  return new Error(
    `${missing.join(", ")} are not available: the download failed (${rootMessage(offline)}) and Go is not ` +
      "installed; connect to the network, install Go, or set KUBEBUILDER_ASSETS to a folder that has them.",
    { cause },
  );
}

function rootMessage(reason: unknown): string {
  const { message, cause } = reason as Error;
  return cause instanceof Error ? rootMessage(cause) : message;
}

function entriesOf(found: Found): [BinaryName, string][] {
  return binaryNames.flatMap((name) => (found[name] === undefined ? [] : [[name, found[name]]]));
}

function complete(found: Found): KubeBinaries {
  return found as KubeBinaries;
}

async function ifExists(file: string): Promise<string | undefined> {
  return access(file).then(
    () => file,
    () => undefined,
  );
}

/**
 * Checks that the binary runs and matches the pin: the same minor version of Kubernetes (official archives do
 * not exist for every patch) and the same major version of etcd.
 */
async function checkVersion(name: BinaryName, file: string, pins: Pins): Promise<void> {
  const wanted = name === "etcd" ? pins.etcd : pins.kubernetes;
  const found = await reportedVersion(file, name === "kubectl" ? ["version", "--client"] : ["--version"]);
  if (name === "etcd" ? majorOf(found) === majorOf(wanted) : minorOf(found) === minorOf(wanted)) return;
  throw new Error(`${file} is version ${found}, but ${pins.module.file} pins ${wanted}`);
}
