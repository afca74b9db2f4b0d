/** Runs the Postgres of a node inside its sandbox, where it ends with the node. */
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { embeddedPostgres } from "../embedded-postgres.ts";

const {
  POSTGRES_FOLDER = "",
  POSTGRES_ADDRESS = "",
  POSTGRES_PASSWORD = "",
  POSTGRES_CLIENTS = "",
} = process.env;

const postgres = embeddedPostgres({
  folder: POSTGRES_FOLDER,
  address: POSTGRES_ADDRESS,
  port: 5432,
  password: POSTGRES_PASSWORD,
  log: (line) => process.stdout.write(line),
});
await postgres.initialise();
await appendFile(join(POSTGRES_FOLDER, "pg_hba.conf"), `\nhost all all ${POSTGRES_CLIENTS} scram-sha-256\n`);
await postgres.start();
