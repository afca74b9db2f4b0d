import type { RequestHeaders } from "../identity.ts";
import type { Fields } from "./fields.ts";

/** The headers by which a request is made in another user's name. */
export function impersonation(fields: Fields): RequestHeaders {
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

/** Names of extra fields may hold any character; the API server decodes percent signs. */
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
        `does not fit into the HTTP header ${name}`,
      );
  }
}
