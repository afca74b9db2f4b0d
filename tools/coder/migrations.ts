import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { coderModule } from "./module.ts";

/** A migration of coderd's database, numbered by the resulting schema. */
export interface Migration {
  readonly schema: number;
  readonly sql: string;
}

/**
 * All migrations of the pinned Coder, in order: a prefix of them creates the schema of an earlier version.
 */
export async function coderMigrations(): Promise<readonly Migration[]> {
  const folder = join(await coderModule(), "coderd", "database", "migrations");
  const files = (await readdir(folder)).filter((name) => name.endsWith(".up.sql")).sort();
  return Promise.all(
    files.map(async (name) => ({
      schema: Number.parseInt(name, 10),
      sql: await readFile(join(folder, name), "utf8"),
    })),
  );
}
