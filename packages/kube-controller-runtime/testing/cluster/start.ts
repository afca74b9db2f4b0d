import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 25;
const READY_TIMEOUT_MS = 60_000;
const BIND_ATTEMPTS = 8;
/** Below the ephemeral port range of the kernel, so a port stays free across a restart. */
const PORTS = { first: 20_000, count: 12_000 };

/** A started program that is not ready yet. */
export interface StartedProgram {
  readonly name: string;
  readonly running: boolean;
  /** The last lines of its output. */
  logTail(): string;
  stop(signal: NodeJS.Signals): Promise<void>;
}

/** Another process took the port between its choice and the bind. */
class PortTakenError extends Error {
  override readonly name = "PortTakenError";
}

/** Waits until the program responds; throws with the end of its log if it ends or takes too long. */
export async function untilReady(program: StartedProgram, isReady: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (!(await isReady().catch(() => false))) {
    if (!program.running) throw startFailure(program);
    if (performance.now() > deadline) {
      await program.stop("SIGKILL");
      throw new Error(`${program.name} was not ready after a minute:\n${program.logTail()}`);
    }
    await sleep(POLL_MS);
  }
}

function startFailure(program: StartedProgram): Error {
  const tail = program.logTail();
  return tail.includes("address already in use")
    ? new PortTakenError(`${program.name} could not bind its port`)
    : new Error(`${program.name} ended while starting:\n${tail}`);
}

/** Starts a program on a free loopback port; chooses another port if it was taken in the meantime. */
export async function onFreePort<T>(start: (port: number) => Promise<T>, attempt = 1): Promise<T> {
  try {
    return await start(await freePort());
  } catch (error) {
    if (!(error instanceof PortTakenError) || attempt === BIND_ATTEMPTS) throw error;
    return onFreePort(start, attempt + 1);
  }
}

async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count);
    if (await canBind(port)) return port;
  }
}

function canBind(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
