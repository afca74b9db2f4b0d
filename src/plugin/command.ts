/*
 * How to add a command: add a folder in `commands/` with a function that gathers plain data from a `Context`,
 * and one that turns the data into lines. Describe both as a `Command`, and add it to the table in
 * `commands/all.ts`. `--help`, completion, `-o json|yaml`, exit codes and common flags come from the table.
 *
 * Rules: a command acts with the user's permissions only. A forbidden read becomes a line of `Gaps`, and the
 * rest of the command still runs. Writes are limited to annotations and fields that the reference pages
 * document.
 */
import type { Readable, Writable } from "node:stream";
import type { Clock } from "kube-controller-runtime";
import type { Cluster } from "./cluster.ts";
import type { OutputStyle } from "./terminal/output-style.ts";
import type { Line } from "./terminal/text.ts";

/** Exit codes, the same for all commands: scripts rely on them. */
export const EXIT = {
  /** The command succeeded and found no problem. */
  fine: 0,
  /** The command failed: no cluster, no such object, a rejected write. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The command succeeded and found a problem that a user must solve. */
  attention: 3,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The result of a command: data for `-o json|yaml`, and lines to print. */
export interface Answer {
  readonly data: unknown;
  readonly lines: (style: OutputStyle) => readonly Line[];
  readonly exit: ExitCode;
  /** The lines are for a program, so do not cut them to the width of the terminal. */
  readonly whole?: boolean;
}

export function answer<T>(
  data: T,
  show: (data: T, style: OutputStyle) => readonly Line[],
  exit: ExitCode = EXIT.fine,
): Answer {
  return { data, lines: (style) => show(data, style), exit };
}

/** A positional argument. */
interface Argument {
  readonly name: string;
  readonly summary: string;
  readonly optional?: boolean;
  readonly choices?: readonly string[];
  /** Names from the cluster that complete the argument. */
  readonly complete?: (context: Context) => Promise<readonly string[]>;
}

/** A flag of one command, in commander's spelling: `-w, --watch`, `--file <path>`. */
export interface Flag {
  readonly flags: string;
  readonly summary: string;
  readonly choices?: readonly string[];
}

interface Example {
  /** The help text. */
  readonly does: string;
  readonly line: string;
}

/** The parsed command line. */
export interface Given {
  readonly arguments: readonly (string | undefined)[];
  /** By long name in camel case, as commander returns them. */
  readonly flags: Readonly<Record<string, string | boolean | undefined>>;
}

/** The environment of a command. */
export interface Context {
  /** Opens the cluster of the kubeconfig on the first call: help and most of completion do not need it. */
  readonly connect: () => Promise<Cluster>;
  readonly clock: Clock;
  readonly env: NodeJS.ProcessEnv;
  /** For coderd only; the cluster has its own client. */
  readonly fetch: typeof fetch;
  /** Aborted when the person presses Ctrl-C. */
  readonly signal: AbortSignal;
  readonly version: string;
  /**
   * For commands that speak their own protocol; other commands return an answer, which the program prints.
   */
  readonly streams: { readonly stdin: Readable; readonly stdout: Writable; readonly stderr: Writable };
}

export interface Command {
  /** The words after `kubectl coder`: "status", "upgrade check". */
  readonly name: string;
  /** One line in the imperative: "Show …". */
  readonly summary: string;
  /** Further help text. */
  readonly details?: string;
  readonly examples: readonly Example[];
  readonly arguments?: readonly Argument[];
  readonly flags?: readonly Flag[];
  /** Whether the command takes `-A`; other commands act on one object or one namespace. */
  readonly isForAllNamespaces?: boolean;
  /** Yields several answers if each replaces the previous one on the screen. */
  readonly run: (context: Context, given: Given) => Promise<Answer> | AsyncIterable<Answer>;
}

/** A failure that the user can act on; only its message is printed. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exit: ExitCode;

  constructor(message: string, exit: ExitCode = EXIT.failed) {
    super(message);
    this.exit = exit;
  }
}
