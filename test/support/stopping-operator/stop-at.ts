/**
 * Stops this process, as SIGSTOP from outside would, at an act that `--stop-at` names: by its number (`#17`), or by
 * a regular expression. Acts are writes to Kubernetes but for the Lease, requests to coderd, and SQL statements.
 * A request is named `PATCH /path`; the process stops when the request begins to wait for a connection, behind every
 * check that is made before. A statement is named `SQL text`; the process stops when it has been answered.
 */
import { subscribe } from "node:diagnostics_channel";
import { writeSync } from "node:fs";
import pg from "pg";
import { STOPPED_AT } from "./marker.ts";

const FLAG = "--stop-at=";
const STDERR = 2;

const position = process.argv.findIndex((argument) => argument.startsWith(FLAG));
const [flag = FLAG] = position < 0 ? [] : process.argv.splice(position, 1);
const wanted = flag.slice(FLAG.length);

let acts = 0;
let stopped = false;

function act(what: string): void {
  acts++;
  const isWanted = wanted.startsWith("#") ? acts === Number(wanted.slice(1)) : new RegExp(wanted).test(what);
  if (stopped || !isWanted) return;
  stopped = true;
  writeSync(STDERR, `${STOPPED_AT}${what}\n`);
  process.kill(process.pid, "SIGSTOP");
}

subscribe("undici:request:create", (message) => {
  const { method, path } = (message as { request: { method: string; path: string } }).request;
  const isRead = method === "GET" && !path.startsWith("/api/v2/");
  if (!isRead && !path.includes("/leases")) act(`${method} ${path}`);
});

const query = pg.Client.prototype.query as (...args: unknown[]) => Promise<unknown>;
Object.assign(pg.Client.prototype, {
  async query(this: pg.Client, ...args: unknown[]) {
    const answer = await query.apply(this, args);
    act(`SQL ${String(args[0]).trim()}`);
    return answer;
  },
});
