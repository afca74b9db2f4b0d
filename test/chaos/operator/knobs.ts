/**
 * What a campaign may do to a running operator from outside, by signals: set its wall clock an hour ahead
 * (SIGUSR2) or back (SIGHUP), and have it collect its garbage and log what is left (SIGWINCH).
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { COLLECTED } from "./memory.ts";

const HOUR_MS = 60 * 60_000;
const MEGABYTE = 1_000_000;

let skewMs = 0;
const realNow = Date.now;
Date.now = () => realNow() + skewMs;

process.on("SIGUSR2", () => {
  skewMs += HOUR_MS;
});
process.on("SIGHUP", () => {
  skewMs -= HOUR_MS;
});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

process.on("SIGWINCH", () => {
  collectGarbage();
  const { heapUsed, rss } = process.memoryUsage();
  const line = { level: "info", msg: COLLECTED, heapMB: heapUsed / MEGABYTE, residentMB: rss / MEGABYTE };
  process.stdout.write(`${JSON.stringify(line)}\n`);
});
