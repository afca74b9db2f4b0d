import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const MARK = "CODER_K8S_CAMPAIGN";
/** Watchdogs of processes that have ended need a moment to notice. */
const GOODBYE_MS = 10_000;
const POLL_MS = 100;

/**
 * Marks all processes and temporary files that come to be from now on, so that those left at the end can be
 * distinguished from everybody else's.
 */
export async function markBelongings(): Promise<{ left(): Promise<string[]> }> {
  const mark = randomUUID();
  const dir = mkdtempSync(join(tmpdir(), "coder-k8s-campaign-"));
  // Postgres may run under an account of its own and has to get through.
  await chmod(dir, 0o755);
  const before = process.env.TMPDIR;
  process.env[MARK] = mark;
  process.env.TMPDIR = dir;
  return {
    async left() {
      const deadline = performance.now() + GOODBYE_MS;
      while (leftIn(dir, mark).length > 0 && performance.now() < deadline) await sleep(POLL_MS);
      const left = leftIn(dir, mark);
      delete process.env[MARK];
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
      rmSync(dir, { recursive: true, force: true });
      return left;
    },
  };
}

function leftIn(dir: string, mark: string): string[] {
  const files = readdirSync(dir).map((name) => `the folder ${name} was left behind`);
  const processes = markedProcesses(mark).map((command) => `a process was left behind: ${command}`);
  return [...files, ...processes];
}

/** Where there is no /proc, there is nothing to recognize them by. */
function markedProcesses(mark: string): string[] {
  const pids = readdirSync("/proc", { withFileTypes: true })
    .map(({ name }) => name)
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  return pids.flatMap((pid) => {
    try {
      if (!readFileSync(`/proc/${pid}/environ`, "utf8").includes(`${MARK}=${mark}`)) return [];
      return [readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").slice(0, 200)];
    } catch {
      // It has ended in the meantime, or belongs to another user.
      return [];
    }
  });
}
