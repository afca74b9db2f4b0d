import type { Secret } from "../../runtime/kinds.ts";
import type { ObjectMeta } from "../../runtime/object.ts";

/** A Secret with one value of ours. Other keys that it may have stay as they are. */
export function valueSecret(
  metadata: ObjectMeta,
  { key, value }: { readonly key: string; readonly value: string },
): Secret {
  const data = { [key]: Buffer.from(value, "utf8").toString("base64") };
  return { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", data };
}
