import type { Plugin, PluginBuild } from "esbuild";

/** A module of a dependency, or several, and the code that takes its place. */
interface Replacement {
  readonly module: RegExp;
  /** The package in which the module is imported; everywhere when absent. */
  readonly within?: string;
  readonly instead: string;
}

/**
 * What dependencies carry along and the operator never reaches. Most of what a Node process costs when idle
 * is code that was loaded, so all of these show in start-up time and resident memory.
 */
const REPLACEMENTS: readonly Replacement[] = [
  {
    // Fetch, WebSockets, mocks, caches and interceptors, 4 MB: all our requests go through an Agent. What is left is
    // loaded at the first use, so that a program that only prints its help does without.
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
    // The experimental parser of HTTP/1, 180 KB: undici has another, and uses this one only when asked to.
    within: "undici",
    module: /^\.\/parser-h1\.js$/,
    instead: "module.exports = { getMiloEnabled: () => false };",
  },
  {
    // Metrics of many processes, push gateways, and default metrics with a tracing library behind them.
    within: "prom-client",
    module: /^\.\/lib\/(defaultMetrics|cluster|pushgateway)$/,
    instead: "module.exports = leftOut;",
  },
  {
    // An ES import of this module reads all that it exports, and so loads the fetch that Node has built in.
    module: /^(node:)?http$/,
    instead: 'module.exports = process.getBuiltinModule("node:http");',
  },
];

const LEFT_OUT = `
  function leftOut() {
    throw new Error("this is not part of the bundle: see tools/build/omit-unreachable.ts");
  }`;

/**
 * Leaves out what is never reached, so that the bundle does with less what the sources do. An import of
 * something that a replacement does not export fails the build.
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
