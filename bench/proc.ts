import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const SAMPLE_MS = 500;
/** Memory is settled if it changed by less than this over this many samples. */
const STEADY = { megabytes: 0.5, samples: 20 };
const TIME_LIMIT_MS = 90_000;

/** A process is calm once it has used less than this share of a core for this time. */
const CALM = { cores: 0.1, forMs: 1_500, withinMs: 30_000 };

/** The unit of CPU time in `/proc`: the same on every Linux that Node.js supports. */
const TICKS_PER_SECOND = 100;

/** The maximum resident memory of a process in MiB. */
export function peakResident(pid: number): Promise<number> {
  return memory(pid, "VmHWM");
}

/** The resident memory once it is stable, or after a minute and a half. */
export async function settledResident(pid: number): Promise<number> {
  const samples: number[] = [];
  for (const deadline = performance.now() + TIME_LIMIT_MS; performance.now() < deadline; ) {
    samples.push(await memory(pid, "VmRSS"));
    const last = samples.slice(-STEADY.samples);
    if (last.length === STEADY.samples && Math.max(...last) - Math.min(...last) < STEADY.megabytes) break;
    await sleep(SAMPLE_MS);
  }
  return samples.at(-1) ?? Number.NaN;
}

/** The CPU time of a process since its start, in seconds. */
export async function processorSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  // The program name is in parentheses and may contain any character.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Waits until a process has finished its start-up work, for at most half a minute. */
export async function untilCalm(pid: number): Promise<void> {
  const deadline = performance.now() + CALM.withinMs;
  let before = await processorSeconds(pid);
  while (performance.now() < deadline) {
    await sleep(CALM.forMs);
    const now = await processorSeconds(pid);
    if (now - before < CALM.cores * (CALM.forMs / 1_000)) return;
    before = now;
  }
}

/** As counted by the kernel. Linux only. */
async function memory(pid: number, field: "VmRSS" | "VmHWM"): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const [, kilobytes] = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status) ?? [];
  if (!kilobytes) throw new Error(`process ${pid} has no ${field}`);
  return Number(kilobytes) / 1024;
}
