/**
 * Runs one Postgres while its parent process keeps the standard input open. A killed test run closes it too,
 * so no server is left behind. The line `down` stops the server and `up` starts it again with the same data
 * on the same port; each is confirmed by a line.
 */
import { rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { embeddedPostgres } from "./embedded-postgres.ts";

const [directory = "", password = ""] = process.argv.slice(2);

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

const port = await freePort();
const log: string[] = [];
const postgres = embeddedPostgres({
  folder: join(directory, "data"),
  address: "127.0.0.1",
  port,
  password,
  log: (line) => log.push(line),
});

for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {});

try {
  await postgres.initialise();
  await postgres.start();
} catch (error) {
  process.stderr.write(`${log.join("")}${String(error)}\n`);
  await rm(directory, { recursive: true, force: true });
  process.exit(1);
}
process.stdout.write(`${JSON.stringify({ port })}\n`);
for await (const command of createInterface({ input: process.stdin })) {
  await (command === "down" ? postgres.stop() : postgres.start());
  process.stdout.write(`${JSON.stringify({ done: command })}\n`);
}
await postgres.stop();
await rm(directory, { recursive: true, force: true });
process.exit(0);
