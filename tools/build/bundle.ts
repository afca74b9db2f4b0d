import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import manifest from "../../package.json" with { type: "json" };
import { omitUnreachable } from "./omit-unreachable.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The output of `make build` and input of the image, relative to the repository. */
export const releaseFile = "dist/coder-k8s.mjs";

/**
 * Flags of Node.js for the operator, read only at its start. With the young generation of one megabyte that V8 begins with,
 * most objects of a reconcile would be copied to the old one before they are garbage. Four save a sixth of the processor time
 * of a fleet and cost 4 MB; eight save a fifth and cost 11 MB.
 */
export const nodeFlags = ["--min-semi-space-size=4", "--max-semi-space-size=4"];

/** The output of `make plugin`: kubectl finds `kubectl coder` by this name on the PATH. */
export const pluginFile = "dist/kubectl-coder";

/** CommonJS dependencies call `require`, which ES modules do not have. */
const REQUIRE =
  'import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);';

const [NODE_MAJOR = ""] = /\d+/.exec(manifest.engines.node) ?? [];

/** First in the bundle: an older Node.js would fail later, with a misleading error. */
const NODE_CHECK = `if(Number.parseInt(process.versions.node)<${NODE_MAJOR}){process.stderr.write("This program needs Node.js ${NODE_MAJOR} or newer, but "+process.execPath+" is version "+process.versions.node+".\\n");process.exit(1);}`;

/** The sources of a bundle. */
export interface Bundle {
  readonly bytes: number;
  /** Every source file in the bundle, relative to the repository. */
  readonly inputs: readonly string[];
}

/** What to bundle, and how; defaults to the operator. */
export interface BundleOptions {
  readonly entry?: string;
  readonly version?: string;
  /** CommonJS is for code that is loaded from memory. */
  readonly format?: "esm" | "cjs";
  readonly plugins?: readonly Plugin[];
}

/** Bundles a program and its dependencies into one executable file that reports `version`. */
export async function bundle(
  outfile: string,
  { entry = "src/main.ts", version = manifest.version, format = "esm", plugins = [] }: BundleOptions = {},
): Promise<Bundle> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    target: `node${NODE_MAJOR}`,
    format,
    banner: format === "esm" ? { js: `${NODE_CHECK}\n${REQUIRE}` } : {},
    // Optional native driver of pg, which is not used.
    external: ["pg-native"],
    // Node.js keeps the source text in memory. Lines stay short, so that stack traces are useful.
    minifyWhitespace: true,
    lineLimit: 160,
    plugins: [...plugins, omitUnreachable, stamp(version)],
    metafile: true,
    logLevel: "warning",
  });
  const [output] = Object.values(metafile.outputs);
  return { bytes: output?.bytes ?? 0, inputs: Object.keys(output?.inputs ?? {}) };
}

/** The version of a release comes from its tag, not from the package.json of its commit. */
function stamp(version: string): Plugin {
  return {
    name: "stamp",
    setup: ({ onLoad }) => {
      onLoad({ filter: /[/\\]src[/\\]version\.ts$/ }, () => ({
        contents: `export const version = ${JSON.stringify(version)};`,
      }));
    },
  };
}
