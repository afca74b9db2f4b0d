import {
  type Caches,
  type Children,
  CONTROLLER_INDEX,
  keyOf,
  type Owner,
  Secret,
  type Stored,
} from "kube-controller-runtime";
import type { SecretKey } from "../normalise.ts";
import { readSecretValue } from "../secret.ts";

export interface KeptValue {
  readonly value: string;
  readonly secret: Stored<Secret>;
}

/**
 * The value that the operator keeps in a Secret for `owner`: under the Secret's present name or, after a rename,
 * still under the one before. What belongs to somebody else, or is blank, does not count.
 */
export function keptValue(
  ref: SecretKey,
  owner: Owner,
  { caches, children }: { readonly caches: Caches; readonly children: Pick<Children, "owns"> },
): KeptValue | undefined {
  const { namespace, uid } = owner.object.metadata;
  const secrets = caches.of(Secret);
  const named = secrets.get(keyOf({ namespace, name: ref.name }));
  for (const secret of [named, ...secrets.byIndex(CONTROLLER_INDEX, uid)]) {
    if (!secret || !children.owns(secret, owner)) continue;
    const value = readSecretValue(secret, ref.key)?.trim();
    if (value) return { value, secret };
  }
  return undefined;
}
