/** Builds the operator's image as an OCI layout. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { currentPlatform } from "../binaries/platform.ts";
import { buildImage, type Commit } from "./image.ts";

const { values } = parseArgs({
  options: {
    platforms: { type: "string", default: `linux/${currentPlatform().arch}` },
    out: { type: "string", default: "dist/image" },
    base: { type: "string" },
    sysroot: { type: "string", default: "/" },
  },
});

try {
  const digest = await buildImage({
    platforms: values.platforms.split(/[\s,]+/).filter(Boolean),
    base: values.base,
    sysroot: values.sysroot,
    commit: await commit(),
    out: values.out,
    log: (line) => console.error(`image: ${line}`),
  });
  console.log(`${join(values.out, "oci")}: ${values.platforms} ${digest}`);
} catch (error) {
  console.error(`image: ${(error as Error).message}`);
  process.exitCode = 1;
}

/** A commit describes what it holds, so changes that are in none are marked. */
async function commit(): Promise<Commit | undefined> {
  try {
    const git = async (...args: string[]) => (await promisify(execFile)("git", args)).stdout.trim();
    const [revision = "", time = ""] = (await git("log", "-1", "--format=%H %ct")).split(" ");
    const changes = await git("status", "--porcelain");
    return {
      revision: changes ? `${revision}-dirty` : revision,
      time: new Date(Number(time) * 1000).toISOString(),
    };
  } catch {
    return undefined;
  }
}
