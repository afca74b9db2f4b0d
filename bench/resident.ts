import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const SAMPLE_MS = 500;
/** Memory is settled when it moved by less than this over so many samples. */
const STEADY = { megabytes: 0.5, samples: 20 };
const PATIENCE_MS = 90_000;

/** The resident memory of a process in megabytes, as the kernel counts it. Linux only. */
async function resident(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(status) ?? [];
  if (!kilobytes) throw new Error(`process ${pid} tells no resident memory`);
  return Number(kilobytes) / 1024;
}

/** The resident memory once it no longer moves, or after a minute and a half of moving. */
export async function settledResident(pid: number): Promise<number> {
  const samples: number[] = [];
  for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; ) {
    samples.push(await resident(pid));
    const last = samples.slice(-STEADY.samples);
    if (last.length === STEADY.samples && Math.max(...last) - Math.min(...last) < STEADY.megabytes) break;
    await sleep(SAMPLE_MS);
  }
  return samples.at(-1) ?? Number.NaN;
}
