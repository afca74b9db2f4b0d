import type { Where } from "./cluster.ts";
import type { Command, Context, Flag } from "./command.ts";
import { COMMON_FLAGS, flagsOf } from "./program.ts";

/** Asks the cluster for names, with the flags that were typed so far. */
export type AskCluster = (
  where: Where,
  names: (context: Context) => Promise<readonly string[]>,
) => Promise<readonly string[]>;

/** Tells kubectl that the list is complete and not to complete file names. */
const NO_FILES = ":4";

/** A flag as it is typed: all spellings, and whether a value follows. */
interface TypedFlag {
  readonly spellings: readonly string[];
  readonly hasValue: boolean;
  readonly flag: Flag;
}

/** The candidates for the last word, in the format that kubectl reads: words, and `:4` at the end. */
export async function complete(
  words: readonly string[],
  commands: readonly Command[],
  ask: AskCluster,
): Promise<string[]> {
  const last = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const candidates = await candidatesFor(last, before, { commands, ask });
  return [...candidates.filter((candidate) => candidate.startsWith(last)), NO_FILES];
}

async function candidatesFor(
  last: string,
  before: readonly string[],
  { commands, ask }: { commands: readonly Command[]; ask: AskCluster },
): Promise<readonly string[]> {
  const flags = typedFlags([...COMMON_FLAGS, ...commands.flatMap((command) => command.flags ?? [])]);
  const open = flags.find(({ spellings, hasValue }) => hasValue && spellings.includes(before.at(-1) ?? ""));
  if (open) return open.flag.choices ?? [];
  const { positional, where } = sorted(before, flags);
  const found = commands.find(({ name }) => name === positional.slice(0, name.split(" ").length).join(" "));
  if (!found) return nextWords(positional, commands);
  if (last.startsWith("-")) return typedFlags(flagsOf(found)).flatMap(({ spellings }) => spellings);
  const argument = found.arguments?.[positional.length - found.name.split(" ").length];
  if (argument?.choices) return argument.choices;
  return argument?.complete ? ask(where, argument.complete) : [];
}

/** The next word of the commands that start with these words. */
function nextWords(positional: readonly string[], commands: readonly Command[]): string[] {
  const beginning = positional.map((word) => `${word} `).join("");
  const rests = commands.filter(({ name }) => name.startsWith(beginning)).map(({ name }) => name);
  return [...new Set(rests.map((name) => name.slice(beginning.length).split(" ")[0] ?? ""))];
}

function typedFlags(flags: readonly Flag[]): TypedFlag[] {
  return flags.map((flag) => ({
    spellings: flag.flags.split(/[ ,]+/).filter((part) => part.startsWith("-")),
    hasValue: flag.flags.includes("<"),
    flag,
  }));
}

/** Separates positional words from the flags that select a cluster and a namespace. */
function sorted(
  words: readonly string[],
  flags: readonly TypedFlag[],
): { positional: readonly string[]; where: Where } {
  const positional: string[] = [];
  const values: Record<string, string | boolean> = {};
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (!word.startsWith("-")) {
      positional.push(word);
      continue;
    }
    const [spelling = "", value] = word.split("=", 2);
    const typed = flags.find(({ spellings }) => spellings.includes(spelling));
    if (!typed) continue;
    const name = typed.spellings.at(-1) ?? "";
    values[name] = typed.hasValue ? (value ?? words[++at] ?? "") : true;
  }
  const text = (name: string) => (typeof values[name] === "string" ? values[name] : undefined);
  return {
    positional,
    where: {
      namespace: text("--namespace"),
      context: text("--context"),
      kubeconfig: text("--kubeconfig"),
      allNamespaces: values["--all-namespaces"] === true,
    },
  };
}
