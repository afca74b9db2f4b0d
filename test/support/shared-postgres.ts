import { type Database, type Databases, type OpenDatabase, openDatabase } from "../../lab/postgres.ts";
import { askRun } from "./run/request-server.ts";

/** Databases on the one Postgres of a run. `stop` drops them; who breaks the server starts one with `startPostgres`. */
export function sharedPostgres(): Databases {
  const taken: OpenDatabase[] = [];
  return {
    async createDatabase(schema) {
      const created = await askRun("POST", `databases/${schema}`);
      const database = openDatabase(created as Pick<Database, "url" | "name">);
      taken.push(database);
      return database;
    },
    async stop() {
      await Promise.all(
        taken.splice(0).map(async (database) => {
          await database.close();
          await askRun("DELETE", `databases/${database.name}`);
        }),
      );
    },
  };
}
