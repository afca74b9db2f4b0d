import type { RequestHeaders } from "../identity.ts";
import type { Fields } from "./fields.ts";
import type { Entry } from "./file.ts";
import { fileOrData, type Material, pathIn } from "./material.ts";
import { type PluginSettings, pluginSettings } from "./plugin-settings.ts";

/** The client's credentials. */
export interface UserSettings {
  readonly token?: Material | undefined;
  readonly basic?: string | undefined;
  readonly certificate?: { readonly cert: Material; readonly key: Material } | undefined;
  readonly plugin?: PluginSettings | undefined;
  /** Headers for impersonation. */
  readonly impersonation: RequestHeaders;
}

/** Parses a user of a kubeconfig; throws if a setting is not supported. */
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
  // client-go rejects some combinations and silently prefers one of the others: reject all of them.
  const { token, basic, plugin } = settings;
  const methods = [token && "token or tokenFile", basic && "username", plugin && "exec"].filter(Boolean);
  if (methods.length > 1) throw fields.refuse(methods.join(" and "), "are mutually exclusive: set only one");
  return { ...settings, impersonation: impersonation(fields) };
}

/** As in client-go, the file wins: the inline token is its value when the kubeconfig was written. */
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

/** The headers for impersonation. */
function impersonation(fields: Fields): RequestHeaders {
  const [user, uid, groups] = [fields.text("as"), fields.text("as-uid"), fields.texts("as-groups")];
  const extra = fields.map("as-user-extra");
  const beside = Object.entries({
    "as-uid": uid,
    "as-groups": groups[0],
    "as-user-extra": extra?.names()[0],
  });
  const alone = beside.find(([, value]) => value !== undefined);
  if (user === undefined && alone) throw fields.refuse(alone[0], "is set without as");
  if (user === undefined) return {};
  const headers: Record<string, string | string[]> = { "Impersonate-User": user };
  if (uid !== undefined) headers["Impersonate-Uid"] = uid;
  if (groups.length > 0) headers["Impersonate-Group"] = [...groups];
  for (const key of extra?.names() ?? [])
    headers[`Impersonate-Extra-${escaped(key)}`] = [...(extra?.texts(key) ?? [])];
  refuseUnsendable(headers, fields);
  return headers;
}

/** Names of extra fields may contain any character; the API server decodes percent-encoding. */
function escaped(key: string): string {
  return key.replace(/[^\w!#$&'*+.^`|~-]/gu, (character) =>
    [...Buffer.from(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
      .join(""),
  );
}

function refuseUnsendable(headers: RequestHeaders, fields: Fields): void {
  for (const [name, values] of Object.entries(headers)) {
    const sendable = [values].flat().every((value) => /^[\t\x20-\x7e\x80-\xff]*$/.test(value));
    if (!sendable)
      throw fields.refuse(
        "as, as-uid, as-groups or as-user-extra",
        `is not valid in the HTTP header ${name}`,
      );
  }
}
