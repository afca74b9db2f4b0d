import type { Random } from "kube-controller-runtime";
import { maxKeyNameLength } from "../../../api/v1alpha1/limits.ts";
import { shortName } from "../../names.ts";
import type { Provisioner } from "../spec.ts";

const SUFFIX = /^-[0-9a-f]{8}$/;
const SUFFIX_LENGTH = 9;

/** What a key's name begins with when the plain one is taken, as it is while a key is rotated. */
function stem({ identity }: Pick<Provisioner, "identity">): string {
  const longest = shortName(identity.name, { suffix: "-00000000", max: maxKeyNameLength });
  return longest.slice(0, -SUFFIX_LENGTH);
}

/** A name that no key has had before. */
export function freshKeyName(provisioner: Pick<Provisioner, "identity">, random: Random): string {
  return `${stem(provisioner)}-${hex(random)}`;
}

/** Whether a key of this name is what the spec asks for: the user's own name, or any that we would choose. */
export function isWantedName(name: string, provisioner: Pick<Provisioner, "identity" | "key">): boolean {
  if (name === provisioner.key.name) return true;
  if (provisioner.key.nameIsFixed) return false;
  const start = stem(provisioner);
  return name.startsWith(start) && SUFFIX.test(name.slice(start.length));
}

/** Eight hexadecimal digits. */
export function hex(random: Random): string {
  return Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, "0");
}
