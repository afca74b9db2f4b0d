import { spawn } from "node:child_process";
import type { Clock } from "../../clock.ts";
import { Redactor } from "../../redact/redactor.ts";
import { KubeconfigError } from "../kubeconfig-error.ts";
import type { PluginSettings } from "./plugin-settings.ts";
import { codeOf } from "./read-file.ts";

/** The same limit as for a request; enough for any sign-in without interaction. */
const LIMIT_MS = 30_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;
const MAX_QUOTED = 500;
/** A shorter value would match everywhere. */
const MIN_SECRET_LENGTH = 4;

interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly complaint: string;
}

/**
 * Runs a credential plugin and returns its output. The plugin has no terminal. It runs in its own process
 * group, which is killed if the plugin hangs, exceeds the output limit or outlives this process.
 */
export async function runPlugin(plugin: PluginSettings, info: string, clock: Clock): Promise<string> {
  const { code, output, complaint } = await ended(plugin, info, clock);
  if (code === 0) return output;
  const words = withoutSecrets(complaint, plugin).trim().slice(0, MAX_QUOTED);
  throw failure(plugin, `exited with ${code === null ? "a signal" : `code ${code}`}${words && `: ${words}`}`);
}

/** The error of a plugin that returned no usable credential. */
export function failure({ command, where, installHint }: PluginSettings, what: string): KubeconfigError {
  const hint = installHint ? `; ${installHint}` : "";
  return new KubeconfigError(`exec of ${where}: ${command} ${what}${hint}`);
}

function ended(plugin: PluginSettings, info: string, clock: Clock): Promise<Ended> {
  const { command, args, env } = plugin;
  const child = spawn(command, args, {
    env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: info },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  const kill = () => killGroup(child.pid);
  const give = (what: string) => {
    reject(failure(plugin, what));
    kill();
  };
  const [output, complaint] = [collect(child.stdout, give), collect(child.stderr, give)];
  const cancel = clock.setTimer(() => give(`did not finish within ${LIMIT_MS / 1_000} seconds`), LIMIT_MS);
  process.once("exit", kill);
  child.once("error", (error) => reject(failure(plugin, `can't be started: ${codeOf(error)}`)));
  child.once("close", (code) => resolve({ code, output: output(), complaint: complaint() }));
  return promise.finally(() => {
    cancel();
    process.off("exit", kill);
  });
}

function collect(stream: NodeJS.ReadableStream, give: (what: string) => void): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_OUTPUT_BYTES) give("printed more than 1 MiB");
    else chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString("utf8");
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The process has already ended.
  }
}

/** A plugin's error message may repeat its arguments. */
function withoutSecrets(text: string, { args, env }: PluginSettings): string {
  const ofArgs = args.map((arg, index) => {
    const named = /^--?[\w-]*(?:secret|token|password|key)[\w-]*(?:=(.*))?$/i.exec(arg);
    return named ? (named[1] ?? args[index + 1] ?? "") : "";
  });
  const secrets = [...Object.values(env), ...ofArgs];
  return new Redactor({ secrets, minLength: MIN_SECRET_LENGTH }).text(text);
}
