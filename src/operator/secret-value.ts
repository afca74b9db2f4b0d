import type { ObjectMeta, Secret } from "kube-controller-runtime";

/** A Secret with one value of ours. Other keys that it may have stay as they are. */
export function valueSecret(
  metadata: ObjectMeta,
  { key, value }: { readonly key: string; readonly value: string },
): Secret {
  const data = { [key]: Buffer.from(value, "utf8").toString("base64") };
  return { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", data };
}

/** The text under a key of a Secret; `undefined` when the Secret or the key is not there. */
export function readSecretValue(secret: Secret | undefined, key: string): string | undefined {
  const encoded = secret?.data?.[key];
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("utf8");
}
