import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "kube-controller-runtime";
import { Supervised } from "kube-controller-runtime/testing";
import { type ContainerPlan, ImagePullError, type Launch, type RunningContainer } from "./launch.ts";
import type { LocalServices } from "./local-services.ts";
import { probeUrl } from "./probe.ts";
import { type Mount, writeVolumes } from "./volumes.ts";

export interface CoderProcessOptions {
  /** What stands for `/opt/coder`, the program in the image; it may depend on the image, and throws for one that does not exist. */
  readonly binary: string | ((image: string) => string);
  /** How processes reach the Services that their variables name. */
  readonly services: LocalServices;
  /** Folders of further programs that the image has, found before those of this machine. */
  readonly path?: readonly string[];
  /** Whether an image can be pulled; any can when absent. */
  readonly isInRegistry?: (image: string) => boolean;
  /** What the image runs with that program when the pod names no command; that of Coder's image when absent. */
  readonly entrypoint?: readonly string[];
}

/** As much of the log as a kubelet takes for a termination message. */
const MAX_OUTPUT = 2_048;

/** Where the image has the program, and the shell that may start it. */
const PROGRAM = "/opt/coder";
const SHELL = "/bin/sh";

/** Where a container leaves a message for its pod's status. */
const TERMINATION_LOG = "/dev/termination-log";

/** The image's entrypoint is `/opt/coder server`. */
const ENTRYPOINT = ["server"];

/**
 * Containers as processes of this machine, ready when their own probe says so. What only means something
 * inside a pod is translated: paths of volumes, URLs of Services, and "every address", which becomes the
 * pod's. A process ends with whoever started it.
 */
export function coderProcess(options: CoderProcessOptions): Launch {
  return async (plan) => {
    const { image = "" } = plan.container;
    if (options.isInRegistry?.(image) === false) throw new ImagePullError(`${image}: not found`);
    const dir = await mkdtemp(join(tmpdir(), "coder-k8s-pod-"));
    try {
      return await launch(plan, { ...options, dir });
    } catch (error) {
      await rm(dir, { recursive: true, force: true });
      throw error;
    }
  };
}

async function launch(
  plan: ContainerPlan,
  { binary, services, path = [], entrypoint = ENTRYPOINT, dir }: CoderProcessOptions & { dir: string },
): Promise<RunningContainer> {
  const mounts = await writeVolumes(plan, dir);
  const translate = async (text: string) => {
    let local = (await services.translate(text))
      .replaceAll("0.0.0.0", plan.podIP)
      .replaceAll(TERMINATION_LOG, join(dir, "termination-log"));
    for (const { inContainer, onMachine } of mounts) local = local.replaceAll(inContainer, onMachine);
    return local;
  };
  const coder = programIn(plan.container.image ?? "", binary);
  const isShell = plan.command[0] === SHELL;
  const argv = [...(plan.command.length > 0 ? plan.command.slice(1) : entrypoint), ...plan.args].map(
    (text) => (isShell ? text.replaceAll(PROGRAM, coder) : text),
  );
  const env = Object.entries(plan.env).map(async ([name, text]) => [name, await translate(text)]);
  const program = new Supervised({
    command: isShell ? SHELL : coder,
    args: await Promise.all(argv.map(translate)),
    env: {
      PATH: [...path, process.env.PATH].join(delimiter),
      HOME: dir,
      ...trusting(mounts),
      ...(await mapping(plan, services)),
      ...Object.fromEntries(await Promise.all(env)),
    },
    logFile: join(dir, "log"),
    scratch: dir,
  });
  return running(program, plan, dir);
}

function programIn(image: string, binary: CoderProcessOptions["binary"]): string {
  if (typeof binary === "string") return binary;
  try {
    return binary(image);
  } catch (error) {
    throw new ImagePullError(messageOf(error));
  }
}

/** Certificate authorities are where Go programs look for them, beside those of this machine. */
function trusting(mounts: readonly Mount[]): Record<string, string> {
  const files = mounts.filter(({ inContainer }) => /^\/etc\/ssl\/certs\/[^/]+\.crt$/.test(inContainer));
  const folders = files.map(({ onMachine }) => dirname(onMachine));
  return folders.length > 0 ? { SSL_CERT_DIR: ["/etc/ssl/certs", ...folders].join(delimiter) } : {};
}

async function mapping({ pod }: ContainerPlan, services: LocalServices): Promise<Record<string, string>> {
  const { hostAliases = [] } = pod.spec ?? {};
  if (hostAliases.length === 0) return {};
  return { HTTPS_PROXY: await services.proxyFor(pod.metadata.namespace ?? "", hostAliases) };
}

function running(program: Supervised, plan: ContainerPlan, dir: string): RunningContainer {
  const probe = steadyProbe(plan);
  let [lastOutput, terminationLog] = ["", ""];
  const ended = program.ended.then(async () => {
    lastOutput = program.logTail().slice(-MAX_OUTPUT);
    terminationLog = await readFile(join(dir, "termination-log"), "utf8").catch(() => "");
    await rm(dir, { recursive: true, force: true });
  });
  return {
    ended,
    // One that a signal ended has no code; a kubelet reports 128 and the number of the signal.
    exitCode: () => program.exitCode ?? 137,
    lastOutput: () => lastOutput,
    terminationLog: () => terminationLog,
    isReady: async () => program.running && (await probe()),
    async stop(graceMs) {
      program.signal("SIGTERM");
      const waited = new AbortController();
      const limit = sleep(graceMs, undefined, { signal: waited.signal, ref: false }).catch(() => undefined);
      await Promise.race([program.ended, limit]);
      waited.abort();
      program.signal("SIGKILL");
      await ended;
    },
  };
}

/** As a kubelet has it: what is ready stays so until several probes in a row fail, so that one slow answer changes nothing. */
function steadyProbe(plan: ContainerPlan): () => Promise<boolean> {
  const probe = probeUrl(plan);
  if (!probe) return async () => true;
  const { failureThreshold = 3 } = plan.container.readinessProbe ?? {};
  let failures = failureThreshold;
  return async () => {
    failures = (await answers(probe)) ? 0 : failures + 1;
    return failures < failureThreshold;
  };
}

async function answers({ url, timeoutMs }: { url: string; timeoutMs: number }): Promise<boolean> {
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(timeoutMs) });
    await response.body?.cancel();
    return response.status >= 200 && response.status < 400;
  } catch {
    return false;
  }
}
