import type { RequestHeaders } from "../identity.ts";
import type { Entry } from "./file.ts";
import { impersonation } from "./impersonation.ts";
import { fileOrData, type Material, pathIn } from "./material.ts";
import { type PluginSettings, pluginSettings } from "./plugin-settings.ts";

/** How we prove who we are. */
export interface UserSettings {
  readonly token: Material | undefined;
  readonly basic: string | undefined;
  readonly certificate: { readonly cert: Material; readonly key: Material } | undefined;
  readonly plugin: PluginSettings | undefined;
  /** For requests in somebody else's name. */
  readonly impersonation: RequestHeaders;
}

export const anonymous: UserSettings = {
  token: undefined,
  basic: undefined,
  certificate: undefined,
  plugin: undefined,
  impersonation: {},
};

/** A user of a kubeconfig; throws over what can't be honoured. */
export function userSettings(entry: Entry): UserSettings {
  const { fields } = entry;
  const provider = fields.map("auth-provider");
  if (provider)
    throw fields.refuse("auth-provider", "is not supported: use exec with the plugin of your provider");
  const settings = {
    token: tokenOf(entry),
    basic: basicOf(entry),
    certificate: certificateOf(entry),
    plugin: pluginSettings(entry),
  };
  // client-go refuses or silently prefers one of them; which one is nothing to guess about.
  const methods = (["token", "basic", "plugin"] as const).filter((method) => settings[method] !== undefined);
  if (methods.length > 1) throw fields.refuse(namesOf(methods), "are all set: keep one");
  return { ...settings, impersonation: impersonation(fields) };
}

const fieldsOf = { token: "token or tokenFile", basic: "username", plugin: "exec" };

function namesOf(methods: readonly (keyof typeof fieldsOf)[]): string {
  return methods.map((method) => fieldsOf[method]).join(" and ");
}

/** As in client-go, the file wins: the token beside it is what it held when somebody wrote the kubeconfig. */
function tokenOf(entry: Entry): Material | undefined {
  const { fields } = entry;
  const file = pathIn(entry, "tokenFile");
  if (file) return { field: "tokenFile", where: fields.where, file };
  const text = fields.text("token");
  return text === undefined ? undefined : { field: "token", where: fields.where, text };
}

function basicOf({ fields }: Entry): string | undefined {
  const [username, password] = [fields.text("username"), fields.text("password")];
  if (username === undefined && password === undefined) return undefined;
  if (username === undefined) throw fields.refuse("password", "is set without username");
  return Buffer.from(`${username}:${password ?? ""}`).toString("base64");
}

function certificateOf(entry: Entry): UserSettings["certificate"] {
  const [cert, key] = [fileOrData(entry, "client-certificate"), fileOrData(entry, "client-key")];
  if (cert && key) return { cert, key };
  if (cert) throw entry.fields.refuse(cert.field, "is set without client-key or client-key-data");
  if (key)
    throw entry.fields.refuse(key.field, "is set without client-certificate or client-certificate-data");
  return undefined;
}
