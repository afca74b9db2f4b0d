import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  buildBinary,
  currentPlatform,
  type Found,
  type GoBinary,
  GoMissingError,
  type Log,
  type Place,
  preparedBinaries,
  readGoModule,
  reportedVersion,
} from "kube-controller-runtime/testing/binaries";

const binaryNames = ["promtool", "prometheus"] as const;
type BinaryName = (typeof binaryNames)[number];

/** Absolute path of every binary. */
export type PrometheusBinaries = Readonly<Record<BinaryName, string>>;

/** The environment for finding the binaries. */
interface PrometheusContext {
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
}

/**
 * Finds Prometheus and promtool in the pinned version: in the per-user cache, or by a build from Go modules.
 * May be called concurrently by several processes.
 */
export async function prometheusBinaries(
  context: PrometheusContext = defaultContext(),
): Promise<PrometheusBinaries> {
  const { os, arch } = currentPlatform();
  const { version, module } = goBinary("promtool");
  const found = await preparedBinaries(binaryNames, {
    ...context,
    folder: join("coder-k8s", "prometheus", `${version}-${os}-${arch}-${module.digest}`),
    what: "Prometheus",
    make: (missing, place) => make(missing, place, context),
  });
  return found as PrometheusBinaries;
}

/** The machine's environment; progress goes to standard error. */
function defaultContext(): PrometheusContext {
  return { env: process.env, log: (line) => console.error(`prometheus: ${line}`) };
}

function goBinary(name: BinaryName): GoBinary {
  const module = readGoModule(fileURLToPath(new URL(".", import.meta.url)));
  const version = releaseOf(module.versionOf("github.com/prometheus/prometheus"));
  return {
    name,
    module,
    package: `github.com/prometheus/prometheus/cmd/${name}`,
    version,
    stamp: `github.com/prometheus/common/version.Version=${version}`,
    // Service discovery with its cloud clients is the largest part of Prometheus.
    tag: "remove_all_sd",
  };
}

/** As a module, Prometheus 3.15.0 is v0.315.0. */
export function releaseOf(moduleVersion: string): string {
  const [, major, minor, patch] = /^v0\.(\d)(\d\d)\.(\d+)$/.exec(moduleVersion) ?? [];
  if (major === undefined) throw new Error(`${moduleVersion} is not a version of Prometheus`);
  return `${major}.${Number(minor)}.${patch}`;
}

async function make(
  missing: readonly BinaryName[],
  { scratch, cache }: Place,
  context: PrometheusContext,
): Promise<Found<BinaryName>> {
  const made: Found<BinaryName> = {};
  for (const name of missing) {
    const pinned = goBinary(name);
    const built = await buildBinary(pinned, scratch, context).catch((cause) => {
      throw cause instanceof GoMissingError ? goNeeded(cause) : cause;
    });
    const reported = await reportedVersion(built, ["--version"]);
    if (reported !== pinned.version) throw new Error(`${name} is version ${reported}, not ${pinned.version}`);
    made[name] = await cache.store(name, built);
  }
  return made;
}

function goNeeded(cause: GoMissingError): Error {
  return new Error("Prometheus is built with Go, which is not installed; install Go.", { cause });
}
