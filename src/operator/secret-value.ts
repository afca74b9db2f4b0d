import type { ObjectMeta, Secret } from "kube-controller-runtime";

/** A Secret with one managed value. Other keys are not changed. */
export function valueSecret(
  metadata: ObjectMeta,
  { key, value }: { readonly key: string; readonly value: string },
): Secret {
  const data = { [key]: Buffer.from(value, "utf8").toString("base64") };
  return { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", data };
}

/** Text of a key of a Secret, or `undefined` if the Secret or the key does not exist. */
export function readSecretValue(secret: Secret | undefined, key: string): string | undefined {
  const encoded = secret?.data?.[key];
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("utf8");
}
