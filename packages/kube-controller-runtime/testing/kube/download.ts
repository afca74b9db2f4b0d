import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { parse } from "yaml";
import type { Platform } from "../binaries/platform.ts";
import { type Log, withTicker } from "../binaries/progress.ts";
import { minorOf } from "../binaries/version.ts";
import { type BinaryName, binaryNames, type Pins } from "./pins.ts";

const ENVTEST_INDEX =
  "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml";
const KUBERNETES_RELEASES = "https://dl.k8s.io/release";
/** An unreachable host must not delay the build that replaces the download. */
const LOOKUP_TIMEOUT_MS = 5_000;
const DOWNLOAD_TIMEOUT_MS = 600_000;

/** The environment of a download. */
export interface DownloadContext {
  readonly fetch: typeof fetch;
  readonly pins: Pins;
  readonly platform: Platform;
  readonly log: Log;
}

interface RemoteFile {
  readonly url: string;
  readonly algorithm: "sha256" | "sha512";
  readonly hash: string;
}

type EnvtestIndex = { releases: Record<string, Record<string, { hash: string; selfLink: string }>> };

/**
 * Downloads the official envtest archive (etcd, kube-apiserver, kubectl), verifies the hash from its index,
 * and returns the files.
 */
export async function downloadEnvtest(into: string, context: DownloadContext): Promise<BinaryName[]> {
  const index = parse(await text(context.fetch, ENVTEST_INDEX)) as EnvtestIndex;
  const archive = chooseArchive(index, context);
  const file = join(into, "envtest.tar.gz");
  await save(archive, file, context);
  await promisify(execFile)("tar", ["-xzf", file, "-C", into, "--strip-components=2"]);
  const found = await readdir(into);
  return binaryNames.filter((name) => found.includes(name));
}

/** Downloads one binary of the official Kubernetes release, available for Linux only. */
export async function downloadRelease(
  name: BinaryName,
  into: string,
  context: DownloadContext,
): Promise<string> {
  const { pins, platform } = context;
  const url = `${KUBERNETES_RELEASES}/${pins.kubernetes}/bin/${platform.os}/${platform.arch}/${name}`;
  const hash = (await text(context.fetch, `${url}.sha256`)).trim();
  const file = join(into, name);
  await save({ url, algorithm: "sha256", hash }, file, context);
  return file;
}

/** The pinned version, or the newest patch of its minor version: not every patch has an archive. */
function chooseArchive(index: EnvtestIndex, { pins, platform }: DownloadContext): RemoteFile {
  const minor = minorOf(pins.kubernetes);
  const sameMinor = Object.keys(index.releases).filter((version) => minorOf(version) === minor);
  const version = sameMinor.includes(pins.kubernetes) ? pins.kubernetes : sameMinor.sort(byPatch).at(-1);
  const name = `envtest-${version}-${platform.os}-${platform.arch}.tar.gz`;
  const entry = version === undefined ? undefined : index.releases[version]?.[name];
  if (entry === undefined) throw new Error(`no envtest archive of Kubernetes ${minor} for this platform`);
  return { url: entry.selfLink, algorithm: "sha512", hash: entry.hash };
}

function byPatch(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}

async function text(fetchUrl: typeof fetch, url: string): Promise<string> {
  const response = await fetchUrl(url, { signal: AbortSignal.timeout(LOOKUP_TIMEOUT_MS) });
  if (!response.ok) throw new Error(`${url} responded with ${response.status}`);
  return response.text();
}

async function save(remote: RemoteFile, file: string, context: DownloadContext): Promise<void> {
  const { log } = context;
  const response = await context.fetch(remote.url, { signal: AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS) });
  if (!response.ok || response.body === null)
    throw new Error(`${remote.url} responded with ${response.status}`);
  log(`downloading ${remote.url}`);
  const hash = createHash(remote.algorithm);
  let bytes = 0;
  const body = Readable.fromWeb(response.body).on("data", (chunk: Uint8Array) => {
    hash.update(chunk);
    bytes += chunk.length;
  });
  const describe = () => `downloading: ${Math.round(bytes / 1e6)} MB`;
  const partial = `${file}.download`;
  await withTicker(log, describe, () => pipeline(body, createWriteStream(partial, { mode: 0o755 })));
  if (hash.digest("hex") !== remote.hash) throw new Error(`${remote.url} does not match its published hash`);
  await rename(partial, file);
}
