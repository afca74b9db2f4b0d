import { CommanderError, Option, Command as Parser } from "commander";
import type { Where } from "./cluster.ts";
import { type Command, EXIT, type ExitCode, type Flag, type Given } from "./command.ts";

const OUTPUTS = ["json", "yaml"] as const;
export type Output = (typeof OUTPUTS)[number];

/** The flags of every command, with kubectl's names. */
export const COMMON_FLAGS: readonly Flag[] = [
  {
    flags: "-n, --namespace <name>",
    summary: "namespace to use; defaults to that of the kubeconfig's context",
  },
  { flags: "-A, --all-namespaces", summary: "use all namespaces" },
  { flags: "--context <name>", summary: "context of the kubeconfig; defaults to the current one" },
  { flags: "--kubeconfig <file>", summary: "kubeconfig to use; defaults to KUBECONFIG, then ~/.kube/config" },
  {
    flags: "-o, --output <format>",
    summary: "output format; defaults to text",
    choices: OUTPUTS,
  },
];

/** All flags of a command, its own first. */
export function flagsOf({ flags = [], isForAllNamespaces }: Command): readonly Flag[] {
  const common = COMMON_FLAGS.filter(({ flags: all }) => isForAllNamespaces || !all.startsWith("-A"));
  return [...flags, ...common];
}

export interface CommonFlags extends Where {
  readonly output?: Output;
}

/** A parsed command line. */
export interface Call {
  readonly command: Command;
  readonly given: Given;
  readonly common: CommonFlags;
}

export interface ProgramOptions {
  readonly commands: readonly Command[];
  readonly version: string;
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
}

/** The parsed call, or the exit code after printing help, the version or an error. */
export function parseCall(words: readonly string[], options: ProgramOptions): Call | ExitCode {
  let call: Call | undefined;
  const program = programOf(options, (asked) => {
    call = asked;
  });
  try {
    program.parse([...words], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.fine : EXIT.usage;
  }
  if (call) return call;
  throw new TypeError("the command line was parsed, but no command was selected");
}

function programOf({ commands, version, ...out }: ProgramOptions, found: (call: Call) => void): Parser {
  const settle = (parser: Parser) =>
    parser
      .configureOutput({ writeOut: out.write, writeErr: out.writeError })
      .exitOverride()
      .helpOption("-h, --help", "print this help and exit")
      .helpCommand(false)
      .showHelpAfterError("(run with --help to list the commands)");
  const program = settle(new Parser("kubectl coder"))
    .description("Inspect and manage Coder on Kubernetes, with your own kubeconfig and permissions.")
    .version(version, "-V, --version", "print the version and exit");
  for (const command of commands) {
    const words = command.name.split(" ");
    const last = words.pop() ?? "";
    const about = { rest: last, summary: command.summary };
    const parent = words.reduce((above, word) => settle(groupIn(above, word, about)), program);
    describe(settle(parent.command(last)), command, found);
  }
  return program;
}

/** The parser for a first word that several commands share. */
function groupIn(above: Parser, word: string, { rest, summary }: { rest: string; summary: string }): Parser {
  const present = above.commands.find((command) => command.name() === word);
  return present ?? above.command(word).summary(`${rest}: ${summary}`);
}

function describe(parser: Parser, command: Command, found: (call: Call) => void): void {
  const { summary, details, examples, arguments: words = [] } = command;
  parser.summary(summary).description(details ? `${summary}.\n\n${details}` : `${summary}.`);
  for (const { name, optional, summary: meaning, choices } of words) {
    const argument = parser.createArgument(optional ? `[${name}]` : `<${name}>`, meaning);
    parser.addArgument(choices ? argument.choices(choices) : argument);
  }
  for (const flag of flagsOf(command)) parser.addOption(optionOf(flag));
  const lines = examples.map(({ does, line }) => `  # ${does}\n  ${line}`);
  parser.addHelpText("after", `\nExamples:\n${lines.join("\n\n")}`);
  parser.action(() => {
    const { namespace, allNamespaces, context, kubeconfig, output, ...own } = parser.opts();
    const common = { namespace, allNamespaces, context, kubeconfig, output };
    found({ command, given: { arguments: parser.processedArgs, flags: own }, common });
  });
}

function optionOf({ flags, summary, choices }: Flag): Option {
  const option = new Option(flags, summary);
  return choices ? option.choices(choices) : option;
}
