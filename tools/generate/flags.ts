import type { Option } from "commander";
import { commandLine } from "../../src/cli/options.ts";
import { code, table } from "./reference.ts";

/** The reference page of the command line, read from the very definitions that parse it. */
export function flagsPage(): string {
  const program = commandLine({ version: "", runController: async () => {} });
  return [
    "# Command line",
    `${program.description()} The chart sets the flags from its values; \`extraArgs\` adds further ones.`,
    "A flag wins over its variable. `--help` prints the same.",
    ...program.commands.flatMap((command) => [
      `## \`${program.name()} ${command.name()}\``,
      command.description(),
      table(["Flag", "Variable", "Default", "Meaning"], command.options.map(row)),
    ]),
  ].join("\n\n");
}

function row(option: Option): string[] {
  const { flags, envVar, defaultValue, defaultValueDescription, description, argChoices } = option;
  const shown = defaultValueDescription ?? (typeof defaultValue === "boolean" ? undefined : defaultValue);
  const choices = argChoices ? ` One of ${argChoices.map(code).join(", ")}.` : "";
  return [
    code(flags),
    envVar ? code(envVar) : "",
    shown === undefined ? "" : code(shown),
    `${sentence(description)}${choices}`,
  ];
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
