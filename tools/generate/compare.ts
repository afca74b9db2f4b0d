import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Files, generatedFolders, generatedMark } from "./outputs.ts";
import { namedFiles } from "./release-names.ts";

export interface Difference {
  readonly path: string;
  readonly because: "missing" | "out of date" | "no longer generated";
}

/** The changes that turn `present` into `wanted`; empty if they are equal. */
export function differences(wanted: Files, present: Files): Difference[] {
  const changed = [...wanted]
    .filter(([path, content]) => present.get(path) !== content)
    .map(([path]): Difference => ({ path, because: present.has(path) ? "out of date" : "missing" }));
  const leftOver = [...present.keys()]
    .filter((path) => !wanted.has(path))
    .map((path): Difference => ({ path, because: "no longer generated" }));
  return [...changed, ...leftOver].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/**
 * The files under `root` with the mark, and those with the names of a release; manually written files next to
 * them are ignored.
 */
export function presentFiles(root: string): Files {
  const files = new Map<string, string>();
  const topLevel = readdirSync(root).filter((name) => namedFiles.has(name));
  for (const path of [...topLevel, ...generatedFolders.flatMap((folder) => filesIn(root, folder))]) {
    const content = readFileSync(join(root, path), "utf8");
    const marked = content.split("\n", 2).some((line) => line.includes(generatedMark));
    if (marked || namedFiles.has(path)) files.set(path, content);
  }
  return files;
}

function filesIn(root: string, folder: string): string[] {
  try {
    return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

/** Makes the files under `root` equal to `wanted`. */
export function writeFiles(root: string, wanted: Files, changes: readonly Difference[]): void {
  for (const { path } of changes) {
    const content = wanted.get(path);
    const file = join(root, path);
    if (content === undefined) rmSync(file);
    else {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
    }
  }
}
