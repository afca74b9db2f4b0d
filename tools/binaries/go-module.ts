import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** A folder whose `go.mod` and `go.sum` are the only place where the versions built there are written down. */
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

export function readGoModule(dir: string): GoModule {
  const file = relative(repository, join(dir, "go.mod"));
  const goMod = readFileSync(join(dir, "go.mod"), "utf8");
  const goSum = readFileSync(join(dir, "go.sum"), "utf8");
  const digest = createHash("sha256").update(goMod).update(goSum).digest("hex").slice(0, 8);
  const versionOf = (module: string) => {
    const line = goMod.split("\n").find((candidate) => candidate.trim().startsWith(`${module} v`));
    const version = line?.trim().split(" ")[1];
    if (version === undefined) throw new Error(`${file} does not pin ${module}`);
    return version;
  };
  return { dir, file, digest, versionOf };
}
