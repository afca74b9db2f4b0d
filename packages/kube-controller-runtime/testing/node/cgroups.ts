import { readdirSync, readFileSync } from "node:fs";
import { rmdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const ROOT = "/sys/fs/cgroup";
/** The cgroup in which containerd creates those of all containers, named after the container. */
const PARENT = "k8s.io";
const ATTEMPTS = 100;
const PAUSE_MS = 50;

/** Cgroups of containers that have ended; those of other Kubernetes nodes on this machine have processes. */
export function deserted(): string[] {
  return containerCgroups().filter((folder) => deepestFirst(folder).every(isEmpty));
}

/** Removes the cgroups of these containers, whose processes have ended. */
export async function removeCgroups(containers: readonly string[]): Promise<void> {
  const ours = containerCgroups().filter((folder) => containers.includes(basename(folder)));
  for (const folder of ours.flatMap(deepestFirst)) await removeOnceEmpty(folder);
  // Other programs may have cgroups here.
  if (ours.length > 0) for (const parent of parents()) await rmdir(parent).catch(() => {});
}

function containerCgroups(): string[] {
  return parents().flatMap(folders);
}

/** One for cgroup v2, one per hierarchy for cgroup v1. */
function parents(): string[] {
  const candidates = [ROOT, ...folders(ROOT)].map((hierarchy) => join(hierarchy, PARENT));
  const present = new Set([ROOT, ...folders(ROOT)].flatMap(folders));
  return candidates.filter((candidate) => present.has(candidate));
}

function isEmpty(folder: string): boolean {
  try {
    return readFileSync(join(folder, "cgroup.procs"), "utf8") === "";
  } catch {
    // It was already removed.
    return true;
  }
}

function deepestFirst(folder: string): string[] {
  return [...folders(folder).flatMap(deepestFirst), folder];
}

/** The kernel counts a process for a moment after it ends. */
async function removeOnceEmpty(folder: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await rmdir(folder);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return;
      if (code !== "EBUSY" || attempt === ATTEMPTS) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

function folders(dir: string): string[] {
  try {
    const entries = readdirSync(dir, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => join(dir, entry.name));
  } catch {
    return [];
  }
}
