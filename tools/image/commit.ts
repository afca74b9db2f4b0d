import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** The commit of a build. */
export interface Commit {
  /** With the suffix `-dirty` if there are uncommitted changes. */
  readonly revision: string;
  /** In RFC 3339. */
  readonly time: string;
}

/** The commit of the working directory; undefined outside a repository. */
export async function currentCommit(): Promise<Commit | undefined> {
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
