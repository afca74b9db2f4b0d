import { createHash } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  binaryCache,
  buildBinary,
  cachedBinaries,
  currentPlatform,
  type GoBinary,
  GoMissingError,
  type Log,
  type Place,
  preparedBinaries,
  readGoModule,
  userCache,
} from "kube-controller-runtime/testing/binaries";

/** The environment for finding the providers. */
interface ProvidersContext {
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
}

/** A Terraform provider by the address that templates use. */
export interface TerraformProvider {
  /** As in `required_providers`: `coder/coder`. */
  readonly source: string;
  /** Without a leading `v`, as Terraform writes versions. */
  readonly version: string;
  /** The executable. */
  readonly file: string;
}

interface PinnedProvider extends GoBinary {
  readonly source: string;
}

/**
 * Finds the providers of templates for Kubernetes in the pinned versions: in the per-user cache, or by a
 * build from Go modules. May be called concurrently by several processes.
 */
export async function terraformProviders({ env, log }: ProvidersContext): Promise<TerraformProvider[]> {
  const pinned = pinnedProviders();
  const names = pinned.map(({ name }) => name);
  const found = await preparedBinaries(names, {
    env,
    log,
    folder: providersFolder(),
    what: "Terraform providers",
    make: (missing, place) => make(pinned, { missing, place, context: { env, log } }),
  });
  return pinned.map(({ name, source, version }) => {
    const file = found[name];
    if (file === undefined) throw new Error(`${name} was prepared but is missing`);
    return { source, version: version.replace(/^v/, ""), file };
  });
}

/** Whether all of them are in the cache, for callers that should not wait for a build. */
export async function hasTerraformProviders(env: NodeJS.ProcessEnv): Promise<boolean> {
  const names = pinnedProviders().map(({ name }) => name);
  const found = await cachedBinaries(names, binaryCache(join(userCache(env), providersFolder())));
  return names.every((name) => found[name] !== undefined);
}

/** The folder in the per-user cache, a different one for every set of pins. */
function providersFolder(): string {
  const { os, arch } = currentPlatform();
  const digests = pinnedProviders().map(({ module }) => module.digest);
  const digest = createHash("sha256").update(digests.join("")).digest("hex").slice(0, 8);
  return join("coder-k8s", "terraform-providers", `${os}-${arch}-${digest}`);
}

function pinnedProviders(): PinnedProvider[] {
  return [
    pinned("coder", { source: "coder/coder", path: "github.com/coder/terraform-provider-coder/v2" }),
    pinned("kubernetes", {
      source: "hashicorp/kubernetes",
      path: "github.com/hashicorp/terraform-provider-kubernetes",
    }),
  ];
}

function pinned(folder: string, { source, path }: { source: string; path: string }): PinnedProvider {
  const module = readGoModule(fileURLToPath(new URL(`providers/${folder}/`, import.meta.url)));
  return {
    name: `terraform-provider-${folder}`,
    module,
    package: path,
    version: module.versionOf(path),
    source,
  };
}

async function make(
  providers: readonly PinnedProvider[],
  { missing, place, context }: { missing: readonly string[]; place: Place; context: ProvidersContext },
): Promise<Record<string, string>> {
  const made: Record<string, string> = {};
  for (const provider of providers.filter(({ name }) => missing.includes(name))) {
    const built = await buildBinary(provider, place.scratch, context).catch((cause) => {
      throw cause instanceof GoMissingError
        ? new Error(`${missing.join(", ")} can't be built: Go is not installed; install Go.`, { cause })
        : cause;
    });
    made[provider.name] = await place.cache.store(provider.name, built);
  }
  return made;
}
