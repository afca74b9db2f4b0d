import type { Secret } from "kube-controller-runtime";
import { childMetadata, type Labels } from "../../names.ts";
import { valueSecret } from "../../secret.ts";
import type { Provisioner } from "../spec.ts";

/** What the Secret has beside the key. */
export interface KeySecretExtras {
  readonly annotations?: Labels;
  /** Further data, encoded as it is stored. */
  readonly data?: Readonly<Record<string, string>>;
}

/**
 * coderd shows a key once; from then on this Secret is the only place that has it. Without a value the Secret
 * is only a claim to its name.
 */
export function keySecret(
  provisioner: Provisioner,
  value: string | undefined,
  { annotations = {}, data = {} }: KeySecretExtras = {},
): Secret {
  const { name, key } = provisioner.key.secret;
  const metadata = childMetadata(provisioner, name, annotations);
  if (value === undefined)
    return { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", data: { ...data } };
  const secret = valueSecret(metadata, { key, value });
  return { ...secret, data: { ...data, ...secret.data } };
}
