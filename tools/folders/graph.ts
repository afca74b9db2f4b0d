import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** Folders by name, each with the folders that it imports. */
export type Graph = ReadonlyMap<string, ReadonlySet<string>>;

const RUNTIME = "packages/kube-controller-runtime";
const PARTS = ["src", `${RUNTIME}/src`, `${RUNTIME}/testing`, "lab", "bench", "demo"];

/** A file, and the file or folder that it imports. */
type Import = readonly [file: string, target: string];

/** All imports between the project's modules, values and types. Tests and tools may import everything. */
export function projectImports(root: string): Import[] {
  const files = PARTS.flatMap((part) => globSync(`${part}/**/*.ts`, { cwd: root })).sort();
  return files
    .filter((file) => !file.endsWith(".test.ts"))
    .flatMap((file) => {
      const imports = readFileSync(join(root, file), "utf8").matchAll(/ from "([^"]+)";/g);
      const targets = [...imports].flatMap(([, specifier = ""]) => resolve(file, specifier) ?? []);
      return targets
        .filter((target) => PARTS.some((part) => target.startsWith(`${part}/`)))
        .map((target) => [file, target] as const);
    });
}

/** The imports between the folders of the diagram. */
export function moduleGraph(imports: readonly Import[]): Graph {
  return graphOf(imports.map(([file, target]) => [roomOf(file), roomOf(target)]));
}

/**
 * The imports between the entries of each folder. An entry is a file or a subfolder with all its contents, so
 * a cycle here is a folder that depends on a neighbor which depends on it.
 */
export function siblingGraph(imports: readonly Import[]): Graph {
  return graphOf(
    imports.map(([file, target]) => {
      const from = file.split("/");
      const to = target.split("/");
      const depth = from.findIndex((part, index) => part !== to[index]) + 1;
      return [from.slice(0, depth).join("/"), to.slice(0, depth).join("/")];
    }),
  );
}

/** A folder of one feature of a kind, such as `provisioner/key`. Shared folders do not belong to a kind. */
const FEATURE = /^src\/operator\/(?!coderd\/|workload\/)(?<kind>[^/]+)\/[^/]+\//;

/** Imports of a feature from outside its kind: its steps, plans and effects are private. */
export function strayImports(imports: readonly Import[]): Import[] {
  return imports.filter(([file, target]) => {
    const kind = FEATURE.exec(target)?.groups?.kind;
    return kind !== undefined && !file.startsWith(`src/operator/${kind}/`);
  });
}

function graphOf(imports: readonly Import[]): Graph {
  const graph = new Map<string, Set<string>>();
  for (const [from, to] of imports) {
    for (const name of [from, to]) if (!graph.has(name)) graph.set(name, new Set());
    if (from !== to) graph.get(from)?.add(to);
  }
  return graph;
}

/** The imported file or folder; `undefined` for external packages. */
function resolve(file: string, specifier: string): string | undefined {
  if (specifier.startsWith(".")) return normalize(join(dirname(file), specifier));
  if (specifier === "kube-controller-runtime/testing") return `${RUNTIME}/testing/`;
  return /^kube-controller-runtime(\/|$)/.test(specifier) ? `${RUNTIME}/src/` : undefined;
}

/** The folder that represents a file in the diagram. */
function roomOf(path: string): string {
  const [part = "", folder = "", below = ""] = path.replace("packages/", "").split("/");
  if (part === "kube-controller-runtime") return folder === "testing" ? `${part}/testing` : part;
  if (part !== "src") return part;
  if (below === "controllers.ts" || below === "rules.ts") return `operator/${below}`;
  if (folder === "operator") return below.endsWith(".ts") ? "operator/*.ts" : `operator/${below}`;
  return folder === "cli" || folder.endsWith(".ts") ? "cli" : folder;
}

/** The folders of a cycle, if there is one. */
export function findCycle(graph: Graph): string[] | undefined {
  const done = new Set<string>();
  const follow = (room: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(room)) return [...path.slice(path.indexOf(room)), room];
    if (done.has(room)) return undefined;
    done.add(room);
    for (const next of graph.get(room) ?? []) {
      const cycle = follow(next, [...path, room]);
      if (cycle) return cycle;
    }
    return undefined;
  };
  for (const room of graph.keys()) {
    const cycle = follow(room, []);
    if (cycle) return cycle;
  }
  return undefined;
}

/** Removes transitive imports: `a → c` is redundant next to `a → b → c`. */
export function withoutImplied(graph: Graph): Graph {
  const reach = (room: string): ReadonlySet<string> => {
    const direct = [...(graph.get(room) ?? [])];
    return new Set(direct.flatMap((next) => [next, ...reach(next)]));
  };
  const essential = (imported: ReadonlySet<string>) => {
    const implied = new Set([...imported].flatMap((next) => [...reach(next)]));
    return new Set([...imported].filter((next) => !implied.has(next)));
  };
  return new Map([...graph].map(([room, imported]) => [room, essential(imported)]));
}
