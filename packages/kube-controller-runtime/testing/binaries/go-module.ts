import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

/**
 * A folder whose `go.mod` and `go.sum` pin all versions. It may contain Go code, and further pairs of such
 * files under other names to build the same code for other versions.
 */
export interface GoModule {
  /** The working directory of `go build`. */
  readonly dir: string;
  /** The name of the file in that folder that pins the versions. */
  readonly modFile: string;
  /** The path of that file for messages. */
  readonly file: string;
  /** Changes with everything that can change a binary, so that an old cache is never reused. */
  readonly digest: string;
  /** The version that `go.mod` pins, with its leading `v`. */
  versionOf(module: string): string;
}

/** Reads the `go.mod` of a folder, or a pair of files with another name. */
export function readGoModule(dir: string, name = "go"): GoModule {
  const modFile = `${name}.mod`;
  const file = relative(process.cwd(), join(dir, modFile));
  const goMod = readFileSync(join(dir, modFile), "utf8");
  const hash = createHash("sha256").update(goMod);
  for (const source of [`${name}.sum`, ...goSources(dir)])
    hash.update(readFileSync(join(dir, source), "utf8"));
  const digest = hash.digest("hex").slice(0, 8);
  const versionOf = (module: string) => {
    const requirements = goMod.split("\n").map((line) => line.trim().replace(/^require /, ""));
    const version = requirements.find((line) => line.startsWith(`${module} v`))?.split(" ")[1];
    if (version === undefined) throw new Error(`${file} does not pin ${module}`);
    return version;
  };
  return { dir, modFile, file, digest, versionOf };
}

function goSources(dir: string): string[] {
  const files = readdirSync(dir, { recursive: true, encoding: "utf8" });
  return files.filter((file) => file.endsWith(".go")).sort();
}
