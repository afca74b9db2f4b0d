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

/** The folder for all files of the node. Large, so it is not in `/tmp`, which may be in memory. */
export const STATE_FOLDER = join("/var/tmp", NODE_ID);

const POLL_MS = 20;
const START_TIMEOUT_MS = 10_000;
const STOP_TIMEOUT_MS = 30_000;

/** Fixed state folders of the node's programs; the host's own are hidden inside the sandbox. */
const PRIVATE_FOLDERS = { lib: "/var/lib", log: "/var/log" };

/** The result of a command in the sandbox. */
export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * The kernel namespaces of the node: processes, mounts and network are isolated, and the kernel removes them
 * with their first process. A veth pair connects it with this machine; there is no other route.
 */
export class Sandbox {
  /** The PID of the first process, as seen from the host. */
  readonly pid: number;

  constructor(pid: number) {
    this.pid = pid;
  }

  /**
   * Creates the namespaces, with `init` as the first process. With `leash` they end with this process under
   * all circumstances; otherwise they stay until `destroySandbox`.
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

  /** Runs a command inside the sandbox; throws with the end of its output on failure. */
  async run(command: readonly string[], stdin: string | Readable = ""): Promise<CommandResult> {
    const [program = "", ...args] = this.#entered(command);
    const running = promisify(execFile)(program, args, { maxBuffer: 1 << 26, cwd: "/" });
    const input = running.child.stdin?.on("error", () => {});
    if (input) (typeof stdin === "string" ? Readable.from([stdin]) : stdin).pipe(input);
    return running.catch((cause) => {
      throw new Error(`${command.join(" ")}: ${(cause.stderr || cause.message).trim()}`, { cause });
    });
  }

  /** The processes in the sandbox, with the name of the program. */
  processes(): { readonly pid: number; readonly name: string }[] {
    const namespace = readlinkSync(`/proc/${this.pid}/ns/pid`);
    return allProcesses().flatMap((pid) => {
      try {
        if (readlinkSync(`/proc/${pid}/ns/pid`) !== namespace) return [];
        return [{ pid: Number(pid), name: readFileSync(`/proc/${pid}/comm`, "utf8").trim() }];
      } catch {
        // The process has ended in the meantime.
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
      // Replies of Services to pods on the same bridge have the wrong source address unless the bridge
      // translates them.
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

/** The existing sandbox on this machine, even if another process created it. */
export function findSandbox(): Sandbox | undefined {
  const pid = allProcesses().find(isInit);
  return pid === undefined ? undefined : new Sandbox(Number(pid));
}

/**
 * Ends all processes of the sandbox, if it exists, and removes what the kernel does not: cgroups, link,
 * files.
 */
export async function destroySandbox(): Promise<void> {
  const sandbox = findSandbox();
  if (sandbox) process.kill(sandbox.pid, "SIGKILL");
  const deadline = performance.now() + STOP_TIMEOUT_MS;
  while (findSandbox()) {
    if (performance.now() > deadline) throw new Error(`process ${sandbox?.pid} of the node did not end`);
    await sleep(POLL_MS);
  }
  await removeCgroups(containers());
  // The kernel removes it with the namespace, after a delay.
  await promisify(execFile)("ip", ["link", "delete", NODE_ID]).catch(() => {});
  await rm(STATE_FOLDER, { recursive: true, force: true });
}

/** Names of past containers: containerd keeps a folder for each. */
function containers(): string[] {
  const tasks = join(STATE_FOLDER, "lib/containerd/io.containerd.runtime.v2.task/k8s.io");
  return existsSync(tasks) ? readdirSync(tasks) : [];
}

function allProcesses(): string[] {
  return readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
}

/** Pods run the same program, but without an argument. */
function isInit(pid: string): boolean {
  try {
    const [program, ...args] = readFileSync(join("/proc", pid, "cmdline"), "utf8").split("\0");
    return program?.endsWith("/pause") === true && args[0] === STATE_FOLDER;
  } catch {
    // The process has ended in the meantime.
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
      throw new Error(
        `this machine can't create the namespaces of a node: ${log || "unshare did not start"}`,
      );
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
