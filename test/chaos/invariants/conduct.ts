/*
 * How the operator behaved, as against what it achieved: by what it wrote, asked for and used up.
 */
import type { ProxiedRequest } from "../../support/fault-proxy.ts";
import type { Secrets } from "../../support/leaks.ts";
import type { Memory } from "../operator/memory.ts";

/** Text that others can read, and where it is. */
export interface Said {
  readonly where: string;
  readonly text: string;
}

/** No secret shows in anything that was said. */
export function noLeaks(said: readonly Said[], secrets: Secrets): string[] {
  return said.flatMap(({ where, text }) =>
    secrets.foundIn(text).map((secret) => `${where} shows the secret ${secret}`),
  );
}

/** What is written beside a process's log: how the harness puts it that one did not start. All else is Node's word. */
const EXPECTED = /^node (ended while starting|was not ready after a minute)/;
/** The logger gives a stack for bugs only. */
const BUG = '"stack":[';
const END = '"msg":"operator failed"';
const LOST_LEASE = '"type":"NotLeaderError"';

/** No process crashed, had an unhandled error, or got a warning of Node.js; no run failed because of a bug. */
export function noCrashes(outputs: readonly string[]): string[] {
  return outputs.flatMap((output) => {
    const lines = output.split("\n").filter((line) => line.trim() !== "");
    const logged = lines.filter((line) => line.startsWith("{"));
    const unexpected = lines.filter((line) => !line.startsWith("{") && !EXPECTED.test(line));
    const ends = logged.filter((line) => line.includes(END) && !line.includes(LOST_LEASE));
    return [
      ...(unexpected.length > 0 ? [`an operator wrote to standard error: ${unexpected.join(" | ")}`] : []),
      ...logged.filter((line) => line.includes(BUG)).map((line) => `an operator met a bug: ${line}`),
      ...ends.map((line) => `an operator ended without having lost its lease: ${line}`),
    ];
  });
}

const LEASE = /\/leases(\/|$|\?)/;
/** The refresh of entitlements, which writes their time every two minutes. */
const REFRESH = /\/codercontrolplanes\/([^/]+)\/status(\?|$)/;

/** Nothing is written when nothing happens, but for the lease and one refresh of each control plane's entitlements. */
export function noWrites(requests: readonly ProxiedRequest[]): string[] {
  const writes = requests.filter(({ method, path }) => method !== "GET" && !LEASE.test(path));
  const refreshed = new Set<string>();
  const needless = writes.filter(({ path }) => {
    const [, name] = REFRESH.exec(path) ?? [];
    if (name === undefined || refreshed.has(name)) return true;
    refreshed.add(name);
    return false;
  });
  return needless.map(({ method, path }) => `nothing happened, and yet ${method} ${path}`);
}

/**
 * How much more a process may have in use at the end than one had at the beginning, for the same fleet. In campaigns
 * of three minutes the heap after a collection came back to within one megabyte and resident memory to within
 * twelve, in which are pages that Node has not given back yet. A leak of a few kilobytes for each of some
 * thousand runs and requests shows.
 */
const ALLOWANCE: Memory = { heapMB: 5, residentMB: 40 };

/** Resources that faults consume are released after their end. */
export function memoryIsBack(before: Memory, after: Memory): string[] {
  return (["heapMB", "residentMB"] as const).flatMap((what) => {
    const limit = before[what] + ALLOWANCE[what];
    // NaN is a failure too.
    if (after[what] <= limit) return [];
    return [
      `${what} was ${before[what].toFixed(1)} and is ${after[what].toFixed(1)}: at most ${limit.toFixed(1)} was expected`,
    ];
  });
}
