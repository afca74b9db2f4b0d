import { chmod, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Plugin } from "esbuild";
import { type Bundle, bundle } from "../build/bundle.ts";

const ENTRY = "src/kubectl-coder.ts";
/** The MCP server, which only `kubectl coder mcp` loads. */
const SERVER = "src/plugin/mcp/serve.ts";
const SERVER_FILE = "kubectl-coder-mcp.mjs";
const SERVER_ASSET = "kubectl-coder-mcp.cjs";

/**
 * Bundles the plugin like the operator, as a program: with a shebang line, and executable. The MCP server is
 * a file next to it.
 */
export async function bundlePlugin(outfile: string, version?: string): Promise<Bundle> {
  const stamped = version === undefined ? {} : { version };
  await bundle(join(dirname(outfile), SERVER_FILE), { entry: SERVER, ...stamped });
  const made = await bundle(outfile, { entry: ENTRY, plugins: [serverBeside, lazyBuiltins], ...stamped });
  await writeFile(outfile, `#!/usr/bin/env node\n${await readFile(outfile, "utf8")}`);
  await chmod(outfile, 0o755);
  return made;
}

/** The content of an executable, and its sources. */
export interface ExecutableBundle {
  readonly program: { readonly main: string; readonly assets: Readonly<Record<string, string>> };
  readonly inputs: readonly string[];
}

/** Bundles the plugin for an executable, whose Node.js runs it without separate files. */
export async function bundleForExecutable(folder: string, version?: string): Promise<ExecutableBundle> {
  const stamped = version === undefined ? {} : { version };
  const [main, asset] = [join(folder, "kubectl-coder.mjs"), join(folder, SERVER_ASSET)];
  const plugin = await bundle(main, { entry: ENTRY, plugins: [serverInside, lazyBuiltins], ...stamped });
  const server = await bundle(asset, { entry: SERVER, format: "cjs", ...stamped });
  return {
    program: { main, assets: { [SERVER_ASSET]: asset } },
    inputs: [...new Set([...plugin.inputs, ...server.inputs])],
  };
}

/**
 * Functions and classes of built-in modules that are slow to load; each loads its module when it is called:
 * most commands need few of them, and help needs none.
 */
const lazyBuiltins: Plugin = {
  name: "lazy-builtins",
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^node:(child_process|crypto|http|tls|zlib)$/ }, ({ path, kind }) =>
      kind === "import-statement" ? { path, namespace: "lazy-builtin" } : undefined,
    );
    onLoad({ filter: /.*/, namespace: "lazy-builtin" }, async ({ path }) => {
      const functions = Object.entries(await import(path)).filter(([, value]) => typeof value === "function");
      const lazy = functions.map(
        ([name]) => `export function ${name}(...given) {
          const { ${name}: real } = process.getBuiltinModule("${path}");
          return new.target ? Reflect.construct(real, given) : real(...given);
        }`,
      );
      return { contents: lazy.filter((text) => !text.startsWith("export function default")).join("\n") };
    });
  },
};

const ofServer = { filter: /\/mcp\/serve\.ts$/ };

const serverBeside: Plugin = {
  name: "server-beside",
  setup: ({ onResolve }) => {
    onResolve(ofServer, ({ kind }) =>
      kind === "dynamic-import" ? { path: `./${basename(SERVER_FILE)}`, external: true } : undefined,
    );
  },
};

/** An executable can't import files, only assets, which it can run itself. */
const fromAsset = `
  import { getAsset } from "node:sea";
  import { compileFunction, constants } from "node:vm";
  const { createRequire: requireFor } = process.getBuiltinModule("node:module");
  const loaded = { exports: {} };
  const load = compileFunction(getAsset("${SERVER_ASSET}", "utf8"), ["require", "module", "exports"], {
    filename: "${SERVER_ASSET}",
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  load(requireFor(process.execPath), loaded, loaded.exports);
  export const { serve } = loaded.exports;`;

const serverInside: Plugin = {
  name: "server-inside",
  setup: ({ onResolve, onLoad }) => {
    onResolve(ofServer, ({ kind }) =>
      kind === "dynamic-import" ? { path: SERVER_ASSET, namespace: "asset" } : undefined,
    );
    onLoad({ filter: /.*/, namespace: "asset" }, () => ({ contents: fromAsset }));
  },
};
