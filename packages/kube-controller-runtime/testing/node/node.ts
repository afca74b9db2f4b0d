import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Log } from "../binaries/progress.ts";
import { type ApiEndpoint, apiObject, apiRequest } from "../cluster/api-request.ts";
import { untilReady } from "../cluster/start.ts";
import { kubeBinaries } from "../kube/binaries.ts";
import { API_PORT, addresses, NODE_NAME } from "./addresses.ts";
import { baseObjects } from "./base-objects.ts";
import { nodeBinaries } from "./binaries.ts";
import { writeCredentials } from "./credentials.ts";
import { writePauseImage } from "./pause-image.ts";
import { obstacle } from "./prerequisites.ts";
import { commandsOf, REGISTRIES } from "./programs.ts";
import { destroySandbox, findSandbox, Sandbox, STATE_FOLDER } from "./sandbox.ts";
import { CONTAINERD_SOCKET } from "./settings.ts";
import { freeVolumes } from "./volumes.ts";

const READY_FILE = join(STATE_FOLDER, "ready.json");
const STARTER_FILE = join(STATE_FOLDER, "starter");

/** Options of a node. */
export interface NodeOptions {
  /** Whether it keeps running after this process has ended, until `stopNode`. */
  readonly detached?: boolean;
  /** Additional API server flags. */
  readonly apiServerFlags?: readonly string[];
  readonly log?: Log;
}

interface NodeState {
  readonly kubeconfig: string;
  readonly kubectl: string;
}

/**
 * Starts a cluster with one node on this machine, with containers, a pod network and Services. Requires Linux
 * and root. The node has its own namespaces and addresses from 198.18.0.0/15, and no route out of the
 * machine. KUBE_NODE numbers concurrent nodes; the remains of an interrupted start are removed first.
 */
export async function startNode(options: NodeOptions = {}): Promise<LocalNode> {
  const { detached = false, log = (line) => console.error(`node: ${line}`) } = options;
  const reason = obstacle();
  if (reason) throw new Error(reason);
  const binaries = { ...(await kubeBinaries()), ...(await nodeBinaries()) };
  await occupy();
  try {
    log("creating namespaces");
    const sandbox = await Sandbox.create(binaries.pause, { leash: !detached });
    const credentials = writeCredentials(join(STATE_FOLDER, "credentials"));
    const commands = commandsOf({
      dir: STATE_FOLDER,
      binaries,
      credentials,
      apiServerFlags: options.apiServerFlags ?? [],
    });
    const { admin } = credentials.identities;
    const endpoint = {
      server: `https://${addresses.node}:${API_PORT}`,
      caFile: credentials.ca,
      token: admin.token,
    };
    const node = new LocalNode(sandbox, { kubeconfig: admin.kubeconfig, kubectl: binaries.kubectl });
    log("starting the control plane and containerd");
    await startControlPlane(sandbox, commands, endpoint);
    await writePauseImage(binaries.pause, join(STATE_FOLDER, "pause-image"));
    await node.importImage(join(STATE_FOLDER, "pause-image"));
    log("starting the kubelet, kube-proxy and DNS");
    await startKubelet(sandbox, commands, endpoint);
    await writeFile(READY_FILE, JSON.stringify(node.state));
    return node;
  } catch (error) {
    await destroySandbox();
    throw error;
  }
}

/** The node that runs on this machine, even if another process started it; undefined if none is ready. */
export async function runningNode(): Promise<LocalNode | undefined> {
  const sandbox = findSandbox();
  const state = await readFile(READY_FILE, "utf8").catch(() => undefined);
  return sandbox && state ? new LocalNode(sandbox, JSON.parse(state) as NodeState) : undefined;
}

/**
 * Stops the node on this machine, or removes the remains of an interrupted start; resolves when nothing is
 * left.
 */
export async function stopNode(): Promise<void> {
  await destroySandbox();
}

/** A cluster with one node on this machine. */
export class LocalNode implements AsyncDisposable {
  readonly state: NodeState;
  /** The address of this machine's own servers, as seen by pods. */
  readonly machineAddress = addresses.machine;
  readonly #sandbox: Sandbox;

  /** Use `startNode` or `runningNode`. */
  constructor(sandbox: Sandbox, state: NodeState) {
    this.#sandbox = sandbox;
    this.state = state;
  }

  /** A kubeconfig of the admin. */
  get kubeconfig(): string {
    return this.state.kubeconfig;
  }

  /** The kubectl of the cluster's version. */
  get kubectl(): string {
    return this.state.kubectl;
  }

  /** The node's files; programs that are started next to it may write here too. */
  get folder(): string {
    return STATE_FOLDER;
  }

  /** Applies a manifest as the admin; throws with the output of kubectl on failure. */
  async apply(manifest: object): Promise<void> {
    await this.#asAdmin(["apply", "--server-side", "--filename=-"], JSON.stringify(manifest));
  }

  /** Empties the volumes of deleted claims and makes them available again, like a provisioner. */
  freeVolumes(): Promise<void> {
    return freeVolumes((...args) => this.#asAdmin(args));
  }

  async #asAdmin(args: readonly string[], stdin = ""): Promise<string> {
    const running = promisify(execFile)(this.kubectl, [`--kubeconfig=${this.kubeconfig}`, ...args]);
    running.child.stdin?.end(stdin);
    return (await running).stdout;
  }

  /**
   * Loads an image into the node: an OCI archive, or the folder of an OCI layout whose index names the image.
   */
  async importImage(path: string): Promise<void> {
    const isFolder = (await stat(path)).isDirectory();
    const reading = isFolder
      ? spawn("tar", ["--create", "--file=-", `--directory=${path}`, "."], {
          stdio: ["ignore", "pipe", "inherit"],
        })
      : spawn("cat", [path], { stdio: ["ignore", "pipe", "inherit"] });
    const failed = once(reading, "exit").then(([code]) => code !== 0);
    await this.#sandbox.run(["ctr", ...CTR_FLAGS, "images", "import", "-"], reading.stdout);
    if (await failed) throw new Error(`${path} can't be read`);
  }

  /** Pulls images of a registry, such as `ghcr.io`, from the server at a URL instead. */
  async mirror(registry: string, url: string): Promise<void> {
    const folder = join(STATE_FOLDER, REGISTRIES, registry);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "hosts.toml"), `[host."${url}"]\n  capabilities = ["pull", "resolve"]\n`);
  }

  /** The names of the images that pods can run without a registry. */
  async images(): Promise<string[]> {
    const { stdout } = await this.#sandbox.run(["ctr", ...CTR_FLAGS, "images", "list", "--quiet"]);
    return stdout.split("\n").filter((name) => name !== "" && !name.startsWith("sha256:"));
  }

  /** Runs a command of this machine in the node's namespaces and returns its output. */
  async run(command: readonly string[]): Promise<string> {
    return (await this.#sandbox.run(command)).stdout;
  }

  /**
   * Starts an additional program in the sandbox, reachable for pods and this machine at the node's address.
   */
  start(name: string, command: readonly string[], env?: NodeJS.ProcessEnv) {
    return this.#sandbox.start(name, command, env);
  }

  /**
   * Sends a signal to a program of the node by name: SIGSTOP to the kubelet simulates an unreachable node.
   */
  signal(program: string, signal: NodeJS.Signals): void {
    const found = this.#sandbox.processes().filter(({ name }) => name === program);
    if (found.length === 0) throw new Error(`${program} does not run on the node`);
    for (const { pid } of found) {
      process.kill(pid, signal);
      // nsenter stops with its program, and must go on to notice its end.
      if (signal === "SIGCONT") process.kill(parentOf(pid), signal);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await stopNode();
  }
}

function parentOf(pid: number): number {
  const [, parent] = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(parent);
}

const CTR_FLAGS = [`--address=${CONTAINERD_SOCKET}`, "--namespace=k8s.io"];

/** Acquires the state folder exclusively and removes one that is no longer used. */
async function occupy(): Promise<void> {
  if (findSandbox())
    throw new Error(
      "A node is already running on this machine: stop it first, or set KUBE_NODE to another number.",
    );
  const starter = Number(await readFile(STARTER_FILE, "utf8").catch(() => "0"));
  if (starter !== 0 && isAlive(starter)) throw new Error(`Process ${starter} is already starting a node.`);
  await destroySandbox();
  await mkdir(STATE_FOLDER);
  // Pods mount files from this folder as any user.
  await chmod(STATE_FOLDER, 0o755);
  await writeFile(STARTER_FILE, String(process.pid));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

type Commands = ReturnType<typeof commandsOf>;

async function startControlPlane(sandbox: Sandbox, commands: Commands, endpoint: ApiEndpoint): Promise<void> {
  const start = (name: keyof Commands) => sandbox.start(name, commands[name]);
  const containerd = start("containerd");
  start("etcd");
  const apiServer = start("kube-apiserver");
  await untilReady(
    apiServer,
    async () => (await apiRequest(endpoint, { method: "GET", path: "/readyz" })).status === 200,
  );
  start("kube-controller-manager");
  start("kube-scheduler");
  await untilReady(containerd, () => sandbox.run(["ctr", ...CTR_FLAGS, "version"]).then(() => true));
}

async function startKubelet(sandbox: Sandbox, commands: Commands, endpoint: ApiEndpoint): Promise<void> {
  for (const { path, body } of baseObjects(STATE_FOLDER))
    await apiObject(endpoint, { method: "POST", path, body });
  const kubelet = sandbox.start("kubelet", commands.kubelet);
  sandbox.start("kube-proxy", commands["kube-proxy"]);
  const dns = sandbox.start("dns", commands.dns);
  await untilReady(kubelet, () => isNodeReady(endpoint));
  // The API server rejects pods without it.
  await untilReady(kubelet, async () => {
    const path = "/api/v1/namespaces/default/serviceaccounts/default";
    return (await apiRequest(endpoint, { method: "GET", path })).status === 200;
  });
  await untilReady(dns, async () => dns.logTail().includes("53"));
}

async function isNodeReady(endpoint: ApiEndpoint): Promise<boolean> {
  const path = `/api/v1/nodes/${NODE_NAME}`;
  const { status } = await apiObject<{ status: { conditions?: { type: string; status: string }[] } }>(
    endpoint,
    {
      method: "GET",
      path,
    },
  );
  return (
    status.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") ?? false
  );
}
