import type { Readable } from "node:stream";
import type { WriteStream } from "node:tty";
import { ApiError, type Clock, messageOf } from "kube-controller-runtime";
import { redactText } from "../coder/redact.ts";
import type { Cluster, Where } from "./cluster.ts";
import { type Command, CommandError, type Context, EXIT, type ExitCode } from "./command.ts";
import { commands } from "./commands/all.ts";
import { complete } from "./completion.ts";
import { Display, printed } from "./output.ts";
import { type CommonFlags, parseCall } from "./program.ts";
import { outputStyleOf, plainOutput } from "./terminal/output-style.ts";
import { span } from "./terminal/text.ts";

/** What the plugin uses of its process. */
export interface Invocation {
  /** Without the program name. */
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: Readable;
  readonly stdout: Pick<WriteStream, "write"> & Partial<WriteStream>;
  readonly stderr: Pick<WriteStream, "write"> & Partial<WriteStream>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly version: string;
  readonly fetch: typeof fetch;
  readonly open: (where: Where) => Promise<Cluster>;
}

/** The word by which kubectl requests completions. */
const COMPLETE = "__complete";

/** Runs the command and resolves with the exit code; never rejects. */
export async function runPlugin(invocation: Invocation): Promise<ExitCode> {
  const { args, stdout, stderr } = invocation;
  try {
    if (args[0] === COMPLETE) return await answerCompletion(args.slice(1), invocation);
    const call = parseCall(args, {
      commands,
      version: invocation.version,
      write: (text) => void stdout.write(text),
      writeError: (text) => void stderr.write(text),
    });
    if (typeof call === "number") return call;
    const { command, given, common } = call;
    return await withContext(common, invocation, (context) =>
      present(command.run(context, given), common, invocation),
    );
  } catch (error) {
    stderr.write(`kubectl coder: ${span(redactText(explained(error))).text}\n`);
    return error instanceof CommandError ? error.exit : EXIT.failed;
  }
}

/**
 * Adds the cause if a cluster does not respond: a wrong port, a name that does not resolve, a certificate.
 */
function explained(error: unknown): string {
  const { cause } = error instanceof ApiError && error.reason === "Unreachable" ? error : {};
  const said = messageOf(error);
  const why = cause instanceof Error ? cause.message : "";
  return why && !said.includes(why) ? `${said}: ${why}` : said;
}

async function withContext<T>(
  where: CommonFlags,
  invocation: Invocation,
  work: (context: Context) => Promise<T>,
): Promise<T> {
  const { clock, version, env, signal, stdin, stdout, stderr, open, fetch } = invocation;
  let cluster: Promise<Cluster> | undefined;
  const connect = () => {
    cluster ??= open(where);
    return cluster;
  };
  const streams = { stdin, stdout, stderr } as Context["streams"];
  try {
    return await work({ connect, clock, env, fetch, signal, version, streams });
  } finally {
    await cluster?.then(
      (opened) => opened.close(),
      () => undefined,
    );
  }
}

async function present(
  answers: ReturnType<Command["run"]>,
  { output }: CommonFlags,
  { stdout, env, clock }: Invocation,
): Promise<ExitCode> {
  const write = (text: string) => void stdout.write(text);
  const style = () => (output ? plainOutput(clock.now()) : outputStyleOf(stdout, env, clock.now()));
  const isFollowed = Symbol.asyncIterator in answers;
  const display = new Display(write, isFollowed && !output && stdout.isTTY ? stdout.rows : undefined);
  let exit: ExitCode = EXIT.fine;
  for await (const answer of isFollowed ? answers : [answers]) {
    display.show(await printed(answer, output, style()));
    exit = answer.exit;
  }
  return exit;
}

/** A failed completion prints nothing: an error would appear in the middle of the command line. */
async function answerCompletion(args: readonly string[], invocation: Invocation): Promise<ExitCode> {
  const candidates = await complete(args, commands, (where, names) =>
    withContext(where, invocation, names).catch(() => []),
  );
  invocation.stdout.write(candidates.map((line) => `${line}\n`).join(""));
  return EXIT.fine;
}
