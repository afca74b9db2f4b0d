import type { Plugin, PluginBuild } from "esbuild";

/** One or more modules of a dependency, and the code that replaces them. */
interface Replacement {
  readonly module: RegExp;
  /** The package that imports the module; defaults to all. */
  readonly within?: string;
  readonly instead: string;
}

/**
 * Parts of dependencies that the operator never uses. Loaded code is most of the memory of an idle Node.js
 * process, so each of these improves start-up time and resident memory.
 */
const REPLACEMENTS: readonly Replacement[] = [
  {
    // Fetch, WebSockets, mocks, caches and interceptors, 4 MB: all requests use an Agent. The rest is loaded
    // on first use, so that a program that only prints its help does not load it.
    module: /^undici$/,
    instead: `
      let undici;
      function load() {
        if (undici) return undici;
        const Dispatcher = require("undici/lib/dispatcher/dispatcher.js");
        Object.assign(Dispatcher.prototype, require("undici/lib/api/index.js"));
        const buildConnector = require("undici/lib/core/connect.js");
        return (undici = { Agent: require("undici/lib/dispatcher/agent.js"), buildConnector });
      }
      export function Agent(options) {
        return new (load().Agent)(options);
      }
      export const buildConnector = (options) => load().buildConnector(options);`,
  },
  {
    // The experimental HTTP/1 parser, 180 KB: undici only uses it on request.
    within: "undici",
    module: /^\.\/parser-h1\.js$/,
    instead: "module.exports = { getMiloEnabled: () => false };",
  },
  {
    // Cluster metrics, push gateways, and default metrics with a tracing library.
    within: "prom-client",
    module: /^\.\/lib\/(defaultMetrics|cluster|pushgateway)$/,
    instead: "module.exports = leftOut;",
  },
  {
    // An ES import of this module accesses all its exports, which loads Node.js's built-in fetch.
    module: /^(node:)?http$/,
    instead: 'module.exports = process.getBuiltinModule("node:http");',
  },
];

const LEFT_OUT = `
  function leftOut() {
    throw new Error("this is not part of the bundle: see tools/build/omit-unreachable.ts");
  }`;

/**
 * Omits unused parts, so that the bundle behaves like the sources with less code. An import of something that
 * a replacement does not export fails the build.
 */
export const omitUnreachable: Plugin = {
  name: "omit-unreachable",
  setup: (build) => {
    for (const [index, replacement] of REPLACEMENTS.entries()) replace(build, replacement, `${index}`);
  },
};

function replace(build: PluginBuild, { module, within = "", instead }: Replacement, id: string): void {
  build.onResolve({ filter: module }, ({ importer }) =>
    importer.includes(within) ? { path: id, namespace: "omit-unreachable" } : undefined,
  );
  build.onLoad({ filter: new RegExp(`^${id}$`), namespace: "omit-unreachable" }, () => ({
    contents: `${LEFT_OUT}\n${instead}`,
    resolveDir: build.initialOptions.absWorkingDir ?? "",
  }));
}
