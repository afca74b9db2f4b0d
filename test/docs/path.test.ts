import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const RUNTIME = "packages/kube-controller-runtime/src";
const IMPORT = /(?:import|export) (?:type )?\{([^}]*)\} from "([^"]+)"/g;

const read = (path: string) => readFileSync(join(root, path), "utf8");
const namesIn = (list: string) => list.split(",").map((name) => name.trim().replace(/^type /, ""));

/** The numbered files of the section on the path, in their order. */
const path = [...read("ARCHITECTURE.md").matchAll(/^(\d+)\. `([^`]+\.ts)`/gm)];
const files = path.map(([, , file = ""]) => file);

/** The file of the runtime that each name of its public entry comes from. */
const publicNames = new Map(
  [...read(join(RUNTIME, "index.ts")).matchAll(IMPORT)].flatMap(([, names = "", from = ""]) =>
    namesIn(names).map((name) => [name, join(RUNTIME, from)] as const),
  ),
);

function importsOf(file: string): string[] {
  return [...read(file).matchAll(IMPORT)].flatMap(([, names = "", from = ""]) => {
    if (from.startsWith(".")) return [relative(root, join(root, dirname(file), from))];
    return from === "kube-controller-runtime"
      ? namesIn(names).map((name) => publicNames.get(name) ?? "")
      : [];
  });
}

test("the path of a CoderProvisioner from event to status has at most 25 files, which exist", () => {
  expect(path.map(([, number]) => Number(number))).toEqual(files.map((_, index) => index + 1));
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  expect(files.length).toBeGreaterThan(20);
  expect(files.length).toBeLessThanOrEqual(25);
});

test("every file of the path is joined by an import to one before it, so that no way is left out", () => {
  // The runner calls what an operator wrote by this interface, without an import.
  const calls = (caller: string, file: string) =>
    [caller, file].every((side) => importsOf(side).includes(join(RUNTIME, "controller/controller.ts")));
  const isJoined = (file: string, before: readonly string[]) =>
    before.some(
      (other) => importsOf(other).includes(file) || importsOf(file).includes(other) || calls(other, file),
    );
  const loose = files.filter((file, index) => index > 0 && !isJoined(file, files.slice(0, index)));
  expect(loose).toEqual([]);
});
