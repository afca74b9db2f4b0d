import { type ChildProcess, execFile, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Supervised } from "../cluster/supervised.ts";
import { addresses, NODE_ID } from "./addresses.ts";
import { removeCgroups } from "./cgroups.ts";
import { BRIDGE_FILTER } from "./prerequisites.ts";
import { SandboxedProgram } from "./sandboxed-program.ts";

/** Everything that the node writes is below. Big, so not in memory as `/tmp` may be. */
export const STATE_FOLDER = join("/var/tmp", NODE_ID);

const POLL_MS = 20;
const START_TIMEOUT_MS = 10_000;
const STOP_TIMEOUT_MS = 30_000;

/** Folders in which programs of the node keep state at fixed places; the machine's own are not seen inside. */
const PRIVATE_FOLDERS = { lib: "/var/lib", log: "/var/log" };

/** How a command in the sandbox ended. */
export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Namespaces of the kernel in which everything of the node runs: processes, mounts and network are its own, and the
 * kernel removes them with its first process, however the sandbox ends. A link of two ends connects it with this
 * machine; there is no route to anywhere else.
 */
export class Sandbox {
  /** Of the first process inside, as the machine counts. */
  readonly pid: number;

  constructor(pid: number) {
    this.pid = pid;
  }

  /**
   * Creates the namespaces, with `init` as the first process. With `leash` they end with this process, however that
   * ends; without, they stay until `destroySandbox`.
   */
  static async create(init: string, { leash }: { readonly leash: boolean }): Promise<Sandbox> {
    const flags = ["--mount", "--net", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc"];
    const args = [...flags, "--", init, STATE_FOLDER];
    const logFile = join(STATE_FOLDER, "sandbox.log");
    if (leash) new Supervised({ command: "unshare", args, logFile, scratch: join(STATE_FOLDER, "scratch") });
    else spawnDetached(["unshare", ...args], logFile);
    const sandbox = await untilFound();
    await sandbox.#furnish();
    await sandbox.#connect();
    return sandbox;
  }

  /** Runs a command inside to its end; fails with its last words. */
  async run(command: readonly string[], stdin: string | Readable = ""): Promise<CommandResult> {
    const [program = "", ...args] = this.#entered(command);
    const running = promisify(execFile)(program, args, { maxBuffer: 1 << 26, cwd: "/" });
    const input = running.child.stdin?.on("error", () => {});
    if (input) (typeof stdin === "string" ? Readable.from([stdin]) : stdin).pipe(input);
    return running.catch((cause) => {
      throw new Error(`${command.join(" ")}: ${(cause.stderr || cause.message).trim()}`, { cause });
    });
  }

  /** What runs inside, by the name of the program. */
  processes(): { readonly pid: number; readonly name: string }[] {
    const namespace = readlinkSync(`/proc/${this.pid}/ns/pid`);
    return allProcesses().flatMap((pid) => {
      try {
        if (readlinkSync(`/proc/${pid}/ns/pid`) !== namespace) return [];
        return [{ pid: Number(pid), name: readFileSync(`/proc/${pid}/comm`, "utf8").trim() }];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    });
  }

  /** Starts a program inside, which runs until the sandbox ends. */
  start(name: string, command: readonly string[], env: NodeJS.ProcessEnv = process.env): SandboxedProgram {
    const logs = join(STATE_FOLDER, "logs");
    mkdirSync(logs, { recursive: true });
    const logFile = join(logs, `${name}.log`);
    return new SandboxedProgram(name, spawnDetached(this.#entered(command), logFile, env), logFile);
  }

  #entered(command: readonly string[]): string[] {
    return ["nsenter", `--target=${this.pid}`, "--mount", "--net", "--pid", "--", ...command];
  }

  async #furnish(): Promise<void> {
    const binds = Object.entries(PRIVATE_FOLDERS).map(([name, target]) => {
      const source = join(STATE_FOLDER, name);
      mkdirSync(source, { recursive: true });
      return `mount --bind ${source} ${target}`;
    });
    await this.#shell([
      ...binds,
      "mount -t tmpfs tmpfs /run",
      // Services of pods on one bridge answer to addresses that they were not asked at: the bridge has to translate.
      "echo 1 > /proc/sys/net/ipv4/ip_forward",
      `echo 1 > ${BRIDGE_FILTER}`,
    ]);
  }

  async #connect(): Promise<void> {
    const { machine, node, linkPrefix, pods, services } = addresses;
    const ip = (command: string) => promisify(execFile)("ip", command.split(" "));
    await ip(`link add ${NODE_ID} type veth peer name eth0 netns ${this.pid}`);
    await ip(`address add ${machine}/${linkPrefix} dev ${NODE_ID}`);
    await ip(`link set ${NODE_ID} up`);
    await this.#shell([
      "ip link set lo up",
      `ip address add ${node}/${linkPrefix} dev eth0`,
      "ip link set eth0 up",
    ]);
    for (const range of [pods, services]) await ip(`route add ${range} via ${node}`);
  }

  #shell(lines: readonly string[]): Promise<CommandResult> {
    return this.run(["sh", "-ec", lines.join("\n")]);
  }
}

/** The sandbox that exists on this machine, whoever created it. */
export function findSandbox(): Sandbox | undefined {
  const pid = allProcesses().find(isInit);
  return pid === undefined ? undefined : new Sandbox(Number(pid));
}

/** Ends everything in the sandbox, if there is one, and removes what the kernel does not: cgroups, link, files. */
export async function destroySandbox(): Promise<void> {
  const sandbox = findSandbox();
  if (sandbox) process.kill(sandbox.pid, "SIGKILL");
  const deadline = performance.now() + STOP_TIMEOUT_MS;
  while (findSandbox()) {
    if (performance.now() > deadline) throw new Error(`process ${sandbox?.pid} of the node does not end`);
    await sleep(POLL_MS);
  }
  await removeCgroups(containers());
  // The kernel removes it with the namespace, some time later.
  await promisify(execFile)("ip", ["link", "delete", NODE_ID]).catch(() => {});
  await rm(STATE_FOLDER, { recursive: true, force: true });
}

/** Names of the containers that ran, which containerd keeps a folder for each of. */
function containers(): string[] {
  const tasks = join(STATE_FOLDER, "lib/containerd/io.containerd.runtime.v2.task/k8s.io");
  return existsSync(tasks) ? readdirSync(tasks) : [];
}

function allProcesses(): string[] {
  return readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
}

/** The program is the same in every pod, where it has no argument. */
function isInit(pid: string): boolean {
  try {
    const [program, ...args] = readFileSync(join("/proc", pid, "cmdline"), "utf8").split("\0");
    return program?.endsWith("/pause") === true && args[0] === STATE_FOLDER;
  } catch {
    // It has ended meanwhile.
    return false;
  }
}

async function untilFound(): Promise<Sandbox> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    const sandbox = findSandbox();
    if (sandbox) return sandbox;
    if (performance.now() > deadline) {
      const log = readFileSync(join(STATE_FOLDER, "sandbox.log"), "utf8").trim();
      throw new Error(`this machine gives no namespaces for a node: ${log || "unshare did not start"}`);
    }
    await sleep(POLL_MS);
  }
}

function spawnDetached(command: readonly string[], logFile: string, env = process.env): ChildProcess {
  const [program = "", ...args] = command;
  const log = openSync(logFile, "a");
  const child = spawn(program, args, { detached: true, stdio: ["ignore", log, log], cwd: "/", env });
  closeSync(log);
  child.unref();
  return child;
}
