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
  /**
   * The replacement for `/opt/coder`, the program in the image; may depend on the image, and throws if the
   * image does not exist.
   */
  readonly binary: string | ((image: string) => string);
  /** How processes reach the Services that their variables refer to. */
  readonly services: LocalServices;
  /** Folders with additional programs of the image, searched before those of this machine. */
  readonly path?: readonly string[];
  /** Whether an image can be pulled; defaults to always. */
  readonly isInRegistry?: (image: string) => boolean;
  /** The arguments of the program if the pod has no command; defaults to those of Coder's image. */
  readonly entrypoint?: readonly string[];
}

/** Maximum length of a termination message, as in the kubelet. */
const MAX_OUTPUT = 2_048;

/** The path of the program in the image, also used by shells. */
const PROGRAM = "/opt/coder";
const SHELL = "/bin/sh";

/** The termination message file of a container. */
const TERMINATION_LOG = "/dev/termination-log";

/** The image's entrypoint is `/opt/coder server`. */
const ENTRYPOINT = ["server"];

/**
 * Runs containers as processes of this machine, ready according to their own probe. Values that are only
 * valid inside a pod are translated: paths of volumes, URLs of Services, and wildcard addresses, which become
 * the pod's. Processes end with this process.
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

/** Certificate authorities are in the directories that Go searches, in addition to those of this machine. */
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
    // A process that a signal ended has no exit code; a kubelet reports 128 plus the signal number.
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

/** Like a kubelet, only changes ready to not ready after several consecutive failures. */
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
