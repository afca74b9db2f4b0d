/*
 * How to add a command: write a folder in `commands/` with a function that gathers plain data from a `Context`, and one
 * that turns these data into lines. Describe both as a `Command`, and put it into the table in `commands/all.ts`.
 * `--help`, completion, `-o json|yaml`, exit codes and the flags that all commands have come from the table.
 *
 * Rules: a command acts with the rights of the person and nothing more. What may not be read becomes a line of
 * `Gaps`, never a failure of the whole. Writes are annotations and fields that the reference pages document.
 */
import type { Readable, Writable } from "node:stream";
import type { Clock } from "kube-controller-runtime";
import type { Cluster } from "./cluster.ts";
import type { OutputStyle } from "./terminal/output-style.ts";
import type { Line } from "./terminal/text.ts";

/** Exit codes, the same for all commands: scripts rely on them. */
export const EXIT = {
  /** It worked, and nothing is wrong. */
  fine: 0,
  /** It did not work: no cluster, no such object, a refused write. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** It worked, and found something that needs a person. */
  attention: 3,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What a command has to say: data for `-o json|yaml`, and the lines that show them to a person. */
export interface Answer {
  readonly data: unknown;
  readonly lines: (style: OutputStyle) => readonly Line[];
  readonly exit: ExitCode;
  /** The lines are for a program, so none is cut to the width of the terminal. */
  readonly whole?: boolean;
}

export function answer<T>(
  data: T,
  show: (data: T, style: OutputStyle) => readonly Line[],
  exit: ExitCode = EXIT.fine,
): Answer {
  return { data, lines: (style) => show(data, style), exit };
}

/** A word that a command takes. */
interface Argument {
  readonly name: string;
  readonly summary: string;
  readonly optional?: boolean;
  readonly choices?: readonly string[];
  /** Names of the cluster that fit, for completion. */
  readonly complete?: (context: Context) => Promise<readonly string[]>;
}

/** A flag of one command, in commander's spelling: `-w, --watch`, `--file <path>`. */
export interface Flag {
  readonly flags: string;
  readonly summary: string;
  readonly choices?: readonly string[];
}

interface Example {
  /** What it is good for. */
  readonly does: string;
  readonly line: string;
}

/** What the person typed. */
export interface Given {
  readonly arguments: readonly (string | undefined)[];
  /** By the long name in camel case, as commander gives them. */
  readonly flags: Readonly<Record<string, string | boolean | undefined>>;
}

/** What a command has of its surroundings. */
export interface Context {
  /** Opens the cluster of the kubeconfig at the first call: help and most of completion need none. */
  readonly connect: () => Promise<Cluster>;
  readonly clock: Clock;
  readonly env: NodeJS.ProcessEnv;
  /** For coderd, where the person has named one; the cluster has a client of its own. */
  readonly fetch: typeof fetch;
  /** Aborted when the person presses Ctrl-C. */
  readonly signal: AbortSignal;
  readonly version: string;
  /** For commands that speak a protocol of their own; all others answer and leave printing to the frame. */
  readonly streams: { readonly stdin: Readable; readonly stdout: Writable; readonly stderr: Writable };
}

export interface Command {
  /** The words after `kubectl coder`: "status", "upgrade check". */
  readonly name: string;
  /** One line, as a command: "Show …". */
  readonly summary: string;
  /** What else there is to know. */
  readonly details?: string;
  readonly examples: readonly Example[];
  readonly arguments?: readonly Argument[];
  readonly flags?: readonly Flag[];
  /** Whether it takes `-A`; all others act on one object, or in one namespace. */
  readonly isForAllNamespaces?: boolean;
  /** Several answers replace each other on the screen, until the last one stays. */
  readonly run: (context: Context, given: Given) => Promise<Answer> | AsyncIterable<Answer>;
}

/** A failure that the person can do something about; its message is all that is printed. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exit: ExitCode;

  constructor(message: string, exit: ExitCode = EXIT.failed) {
    super(message);
    this.exit = exit;
  }
}
