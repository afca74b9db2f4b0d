import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

/**
 * A folder whose `go.mod` and `go.sum` are the only place where the versions built there are written down. It may
 * hold Go code of ours.
 */
export interface GoModule {
  /** Where `go build` runs. */
  readonly dir: string;
  /** Its `go.mod` as a person would name it. */
  readonly file: string;
  /** Changes whenever anything that could change a binary does, so an old cache is never reused. */
  readonly digest: string;
  /** The version that `go.mod` pins, with its leading `v`. */
  versionOf(module: string): string;
}

/** Reads the `go.mod` of a folder. */
export function readGoModule(dir: string): GoModule {
  const file = relative(process.cwd(), join(dir, "go.mod"));
  const goMod = readFileSync(join(dir, "go.mod"), "utf8");
  const hash = createHash("sha256").update(goMod);
  for (const source of ["go.sum", ...goSources(dir)]) hash.update(readFileSync(join(dir, source), "utf8"));
  const digest = hash.digest("hex").slice(0, 8);
  const versionOf = (module: string) => {
    const line = goMod.split("\n").find((candidate) => candidate.trim().startsWith(`${module} v`));
    const version = line?.trim().split(" ")[1];
    if (version === undefined) throw new Error(`${file} does not pin ${module}`);
    return version;
  };
  return { dir, file, digest, versionOf };
}

function goSources(dir: string): string[] {
  const files = readdirSync(dir, { recursive: true, encoding: "utf8" });
  return files.filter((file) => file.endsWith(".go")).sort();
}
