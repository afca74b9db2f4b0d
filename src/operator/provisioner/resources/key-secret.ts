import type { Secret } from "../../../runtime/kinds.ts";
import { childMetadata } from "../../shared/names.ts";
import { valueSecret } from "../../shared/secret.ts";
import type { Provisioner } from "../spec.ts";

/** coderd shows a key once; from then on this Secret is the only place that has it. */
export function keySecret(provisioner: Provisioner, value: string): Secret {
  const { name, key } = provisioner.key.secret;
  return valueSecret(childMetadata(provisioner, name), { key, value });
}
