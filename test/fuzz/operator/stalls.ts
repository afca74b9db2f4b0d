/**
 * Tells in the operator's output of every turn of the event loop that took long. What counts is the time that the
 * thread was computing, so that a busy machine makes no stall of its own.
 */
const LONGEST_MS = 100;
const LOOK_EVERY_MS = 10;
/** Loading and compiling the program is no work on anything from outside. */
const STARTING_MS = 5_000;

let before = process.threadCpuUsage();
setTimeout(() => {
  before = process.threadCpuUsage();
  setInterval(look, LOOK_EVERY_MS).unref();
}, STARTING_MS).unref();

function look(): void {
  const { user, system } = process.threadCpuUsage(before);
  before = process.threadCpuUsage();
  const busyMs = (user + system) / 1_000;
  if (busyMs > LONGEST_MS)
    process.stdout.write(`${JSON.stringify({ level: "error", msg: "event loop stalled", busyMs })}\n`);
}
