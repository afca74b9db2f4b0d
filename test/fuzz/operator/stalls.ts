/**
 * Reports in the operator's output every turn of the event loop that took long, and where. What counts is the time
 * that the thread was computing, so that a busy machine makes no stall of its own.
 */
import { type Profiler, Session } from "node:inspector/promises";

const MAX_STALL_MS = 100;
const LOOK_EVERY_MS = 10;
const SAMPLE_EVERY_US = 2_000;
/** Loading and compiling the program does not process external input. */
const STARTING_MS = 5_000;

const session = new Session();
let before = process.threadCpuUsage();
let isReporting = false;

setTimeout(begin, STARTING_MS).unref();

async function begin(): Promise<void> {
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: SAMPLE_EVERY_US });
  await session.post("Profiler.start");
  before = process.threadCpuUsage();
  setInterval(look, LOOK_EVERY_MS).unref();
}

function look(): void {
  const { user, system } = process.threadCpuUsage(before);
  const busyMs = (user + system) / 1_000;
  if (busyMs > MAX_STALL_MS && !isReporting) void report(busyMs);
  before = process.threadCpuUsage();
}

/** Reading the profile takes long itself, so what follows is not looked at. */
async function report(busyMs: number): Promise<void> {
  isReporting = true;
  const { profile } = await session.post("Profiler.stop");
  const line = { level: "error", msg: "event loop stalled", busyMs, at: busiest(profile, busyMs) };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  await session.post("Profiler.start");
  setTimeout(() => {
    before = process.threadCpuUsage();
    isReporting = false;
  }, 1_000).unref();
}

/** The functions that were seen most often at the end of the profile. */
function busiest(
  { nodes, samples = [], timeDeltas = [], endTime }: Profiler.Profile,
  busyMs: number,
): string {
  const seen = new Map<number, number>();
  let time = endTime;
  for (let index = samples.length - 1; index >= 0 && endTime - time < (busyMs + 100) * 1_000; index--) {
    const id = samples[index] ?? 0;
    seen.set(id, (seen.get(id) ?? 0) + 1);
    time -= timeDeltas[index] ?? 0;
  }
  const names = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  return [...seen]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 6)
    .map(([id, count]) => {
      const { functionName = "", url = "", lineNumber = 0 } = names.get(id) ?? {};
      return `${functionName || "?"} ${url.split("/").slice(-2).join("/")}:${lineNumber + 1} (${count})`;
    })
    .join(", ");
}
