import type { Command, Context } from "../command.ts";

/** An input of a tool. */
export interface Input {
  readonly type: "string" | "integer" | "boolean";
  readonly description: string;
  readonly enum?: readonly string[];
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

export type Inputs = Readonly<Record<string, string | number | boolean | undefined>>;

/** A tool for assistants. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputs: Readonly<Record<string, Input>>;
  readonly required: readonly string[];
  /** Absent if the tool only reads. */
  readonly writes?: { readonly destructive: boolean };
  /**
   * Returns text that programs wrote, so it is refused unless all secrets that the text may contain are
   * known.
   */
  readonly quotes?: true;
  readonly call: (context: Context, inputs: Inputs) => Promise<unknown>;
}

const MAX_ARGUMENT_LENGTH = 300;

const namespaceInput: Input = {
  type: "string",
  description: "Namespace to read; defaults to that of the server.",
  pattern: "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$",
};

export function word(description: string, choices?: readonly string[]): Input {
  return { type: "string", description, maxLength: MAX_ARGUMENT_LENGTH, ...(choices && { enum: choices }) };
}

/** The function behind a command, with the data of `-o json`. */
export function toolOf(command: Command, writes?: Tool["writes"]): Tool {
  const words = command.arguments ?? [];
  return {
    name: command.name.replaceAll(" ", "_"),
    description: [command.summary, command.details].filter(Boolean).join(". "),
    inputs: Object.fromEntries(words.map(({ name, summary, choices }) => [name, word(summary, choices)])),
    required: words.filter(({ optional }) => !optional).map(({ name }) => name),
    ...(writes && { writes }),
    call: async (context, inputs) => {
      const given = words.map(({ name }) => inputs[name]?.toString());
      const answers = command.run(context, { arguments: given, flags: {} });
      if (Symbol.asyncIterator in answers) throw new TypeError(`${command.name} answers more than once`);
      return (await answers).data;
    },
  };
}

/** The inputs as a JSON schema. */
export function schemaOf({ inputs, required }: Tool) {
  const properties = { ...inputs, namespace: namespaceInput };
  return { type: "object" as const, properties, required: [...required], additionalProperties: false };
}

/**
 * What is wrong with the inputs; absent if they are valid. Assistants make mistakes, and hosts do not
 * validate.
 */
export function complaint(tool: Tool, given: Readonly<Record<string, unknown>>): string | undefined {
  const { properties, required } = schemaOf(tool);
  const missing = required.find((name) => given[name] === undefined);
  if (missing) return `"${missing}" is missing.`;
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(properties, name)) return `Unknown input "${name.slice(0, 50)}".`;
    const input = (properties as Readonly<Record<string, Input>>)[name];
    if (input && !fits(input, value)) return `Invalid value for "${name}": ${input.description}`;
  }
  return undefined;
}

function fits(input: Input, value: unknown): boolean {
  if (input.type === "boolean") return typeof value === "boolean";
  if (input.type === "integer") {
    const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = input;
    return Number.isSafeInteger(value) && Number(value) >= minimum && Number(value) <= maximum;
  }
  if (typeof value !== "string" || value.length > (input.maxLength ?? MAX_ARGUMENT_LENGTH)) return false;
  return (input.enum?.includes(value) ?? true) && (!input.pattern || new RegExp(input.pattern).test(value));
}
