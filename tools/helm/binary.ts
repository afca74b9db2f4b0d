import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  buildBinary,
  currentPlatform,
  type GoBinary,
  GoMissingError,
  type Log,
  minorOf,
  type Place,
  preparedBinaries,
  readGoModule,
  reportedVersion,
} from "kube-controller-runtime/testing/binaries";

/** The environment for finding helm. */
export interface HelmContext {
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
}

/**
 * Finds helm in the pinned version: the file in `HELM`, the per-user cache, the `PATH`, or a build from Go
 * modules. May be called concurrently by several processes.
 */
export async function helmBinary(context: HelmContext = defaultContext()): Promise<string> {
  const pinned = pinnedHelm();
  const { env, log } = context;
  if (env.HELM) return given(env.HELM, pinned);
  const { os, arch } = currentPlatform();
  const { helm } = await preparedBinaries(["helm"], {
    env,
    log,
    folder: join("coder-k8s", "helm", `${pinned.version}-${os}-${arch}-${pinned.module.digest}`),
    what: "helm",
    make: async (_, place) => ({ helm: (await onPath(env, pinned)) ?? (await make(pinned, place, context)) }),
  });
  if (helm === undefined) throw new Error("helm was prepared but is missing");
  return helm;
}

/** The machine's environment; progress goes to standard error. */
function defaultContext(): HelmContext {
  return { env: process.env, log: (line) => console.error(`helm: ${line}`) };
}

function pinnedHelm(): GoBinary {
  const module = readGoModule(fileURLToPath(new URL(".", import.meta.url)));
  const version = module.versionOf("helm.sh/helm/v4");
  return {
    name: "helm",
    module,
    package: "helm.sh/helm/v4/cmd/helm",
    version,
    stamp: `helm.sh/helm/v4/internal/version.version=${version}`,
  };
}

async function given(file: string, pinned: GoBinary): Promise<string> {
  await checkVersion(file, pinned).catch((cause) => {
    throw new Error(`HELM can't be used: ${cause.message}; unset or correct it`, { cause });
  });
  return file;
}

/** A different version on the machine is not an error; it is just not used. */
async function onPath(env: NodeJS.ProcessEnv, pinned: GoBinary): Promise<string | undefined> {
  for (const dir of (env.PATH ?? "").split(delimiter).filter(Boolean)) {
    const file = join(dir, "helm");
    const matches = await access(file, constants.X_OK)
      .then(() => checkVersion(file, pinned))
      .then(
        () => true,
        () => false,
      );
    if (matches) return file;
  }
  return undefined;
}

async function make(pinned: GoBinary, { scratch, cache }: Place, { env, log }: HelmContext): Promise<string> {
  const built = await buildBinary(pinned, scratch, { env, log }).catch((cause) => {
    throw cause instanceof GoMissingError ? nothingWorks(pinned, cause) : cause;
  });
  await checkVersion(built, pinned);
  return cache.store("helm", built);
}

async function checkVersion(file: string, { version, module }: GoBinary): Promise<void> {
  const found = await reportedVersion(file, ["version", "--short"]);
  if (minorOf(found) !== minorOf(version)) {
    throw new Error(`${file} is version ${found}, but ${module.file} pins ${version}`);
  }
}

function nothingWorks({ version }: GoBinary, cause: GoMissingError): Error {
  const minor = minorOf(version);
  return new Error(
    `helm ${minor} is not available: it is not on the PATH and Go is not installed to build it; ` +
      `install helm ${minor} or Go, or set HELM to the file of a helm ${minor}.`,
    { cause },
  );
}
