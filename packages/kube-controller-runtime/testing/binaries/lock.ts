import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

const SQLITE_BUSY = 5;
const SQLITE_NOTADB = 26;
const POLL_MS = 250;

/**
 * Runs `work` while no other process holds the same lock file.
 *
 * The lock is the operating system's file lock, acquired through SQLite because Node.js has no `flock`. It
 * ends with its process, so it can't be stale.
 */
export async function withFileLock<T>(
  file: string,
  hooks: { onWait: () => void },
  work: () => Promise<T>,
): Promise<T> {
  const lock = await acquire(file, hooks);
  try {
    return await work();
  } finally {
    lock.close();
  }
}

async function acquire(file: string, hooks: { onWait: () => void }): Promise<DatabaseSync> {
  mkdirSync(dirname(file), { recursive: true });
  for (let attempt = 0; ; attempt += 1) {
    const lock = tryAcquire(file);
    if (lock !== undefined) return lock;
    if (attempt === 0) hooks.onWait();
    await sleep(POLL_MS);
  }
}

function tryAcquire(file: string): DatabaseSync | undefined {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec("BEGIN EXCLUSIVE");
    return database;
  } catch (error) {
    database.close();
    const code = sqliteCode(error);
    if (code === SQLITE_NOTADB) rmSync(file, { force: true });
    else if (code !== SQLITE_BUSY) throw new Error(`can't lock ${file}`, { cause: error });
    return undefined;
  }
}

function sqliteCode(error: unknown): number | undefined {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number"
    ? error.errcode
    : undefined;
}
