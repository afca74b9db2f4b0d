import { resolve, sep } from "node:path";
import type { Fields } from "./fields.ts";
import type { Entry } from "./file.ts";

/** A program that prints credentials. */
export interface PluginSettings {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string | undefined;
  readonly providesClusterInfo: boolean;
  /** Where it is configured, for messages. */
  readonly where: string;
}

const GROUP = "client.authentication.k8s.io";
const VERSIONS = [`${GROUP}/v1`, `${GROUP}/v1beta1`];

/** Parses `exec` of a user; throws if a setting is not supported. */
export function pluginSettings({ fields: user, folder }: Entry): PluginSettings | undefined {
  const fields = user.map("exec");
  if (!fields) return undefined;
  const apiVersion = fields.required("apiVersion");
  if (!VERSIONS.includes(apiVersion)) throw fields.refuse("apiVersion", `must be ${VERSIONS.join(" or ")}`);
  refuseTerminal(fields);
  const command = fields.required("command");
  return {
    apiVersion,
    // A name without a path is searched in PATH.
    command: command.includes(sep) ? resolve(folder, command) : command,
    args: fields.texts("args"),
    env: Object.fromEntries(
      fields.maps("env").map((variable) => [variable.required("name"), variable.text("value") ?? ""]),
    ),
    installHint: fields.text("installHint"),
    providesClusterInfo: fields.flag("provideClusterInfo"),
    where: user.where,
  };
}

/** The operator has no terminal to ask for input. */
function refuseTerminal(fields: Fields): void {
  const mode = fields.text("interactiveMode") ?? "IfAvailable";
  if (mode === "Always")
    throw fields.refuse(
      "interactiveMode",
      "is Always, but the operator has no terminal: use Never or IfAvailable",
    );
  if (!["Never", "IfAvailable"].includes(mode))
    throw fields.refuse("interactiveMode", "must be Never, IfAvailable or Always");
}
