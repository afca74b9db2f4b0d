import { type Changes, fnv1a32, type Random } from "kube-controller-runtime";
import { provisionerDefaults, tokenSecretKey } from "../../../api/v1alpha1/defaults.ts";
import { maxKeyNameLength } from "../../../api/v1alpha1/limits.ts";
import type { ProvisionerKeyRecord, ProvisionerStatus } from "../../../api/v1alpha1/provisioner.ts";
import type { ProvisionerKey } from "../../../coder/model.ts";
import { shortName } from "../../names.ts";
import { defined, type SecretKey, secretKey } from "../../normalize.ts";
import { isSameService } from "../../workload/exposure/service.ts";
import type { Provisioner } from "../spec.ts";

/** A key at coderd, as the status records it. */
export type KeyRecord = ProvisionerKeyRecord;

/** A key in use of which everything is known, except for its id right after it was made. */
export type CompleteKey = {
  readonly [Field in keyof Omit<AppliedKey, "id">]-?: NonNullable<AppliedKey[Field]>;
} & {
  readonly id: string | undefined;
};

/** The key that the spec, the control plane and the credentials ask for. */
export interface WantedKey {
  readonly controlPlaneRefName: string;
  readonly controlPlaneURL: string;
  readonly credentialsSecretRef: SecretKey;
  readonly organizationName: string;
  readonly tags: Readonly<Record<string, string>>;
  /** The name to take if it is free, and the one that the user insists on if it is fixed. */
  readonly name: string;
  readonly nameIsFixed: boolean;
  /** The name to take when the other is not free. */
  readonly freshName: string;
  /** Whether a key may keep the name it has. */
  readonly isWantedName: (name: string) => boolean;
  readonly secretRef: SecretKey;
  /** The request for another key, if there is one. */
  readonly rotation?: string | undefined;
}

/** What coderd has in the wanted organization. */
export interface CoderdKeys {
  readonly organizationID: string;
  readonly keys: readonly ProvisionerKey[];
}

/** What status says of the key in use. Any part may be missing: earlier releases recorded less. */
export type AppliedKey = Readonly<ReturnType<typeof appliedKey>>;

export function appliedKey(status: Partial<ProvisionerStatus> = {}) {
  return {
    name: status.provisionerKeyName || undefined,
    id: status.provisionerKeyID || undefined,
    organizationID: status.organizationID || undefined,
    organizationName: status.organizationName || undefined,
    tagsHash: status.tagsHash || undefined,
    controlPlaneRefName: status.controlPlaneRefName || undefined,
    controlPlaneURL: status.controlPlaneURL || undefined,
    credentialsSecretRef: secretKey(status.credentialsSecretRef, tokenSecretKey),
    secretRef: secretKey(status.secretRef, provisionerDefaults.keySecretKey),
  };
}

/** A pending key as the one in use; `undefined` when the record lacks something that the status needs. */
export function completeKey(
  { name, id, ...record }: KeyRecord,
  secretRef: SecretKey,
): CompleteKey | undefined {
  const ids = defined({ provisionerKeyName: name, provisionerKeyID: id });
  const key = appliedKey({ ...record, ...ids, secretRef: { ...secretRef } });
  return isComplete(key) ? key : undefined;
}

function isComplete(key: AppliedKey): key is CompleteKey {
  return Object.entries(key).every(([field, value]) => field === "id" || value !== undefined);
}

/** What the status records of a key that is made now, beside its name. */
export function originOf(wanted: WantedKey, { organizationID }: CoderdKeys) {
  const { controlPlaneRefName, controlPlaneURL, credentialsSecretRef, organizationName, tags } = wanted;
  return {
    controlPlaneRefName,
    controlPlaneURL,
    credentialsSecretRef: { ...credentialsSecretRef },
    organizationID,
    organizationName,
    tagsHash: tagsHash(tags),
  };
}

/** The fields of the status that say which key is in use. */
export function inUse(key: CompleteKey): Changes<ProvisionerStatus> {
  const { name, id, secretRef, credentialsSecretRef, ...same } = key;
  return {
    ...same,
    provisionerKeyName: name,
    provisionerKeyID: id,
    secretRef: { ...secretRef },
    credentialsSecretRef: { ...credentialsSecretRef },
  };
}

/** What it takes to find the key in use again once another has its place in status. */
export function recordOf({
  name,
  secretRef: _,
  credentialsSecretRef,
  ...key
}: AppliedKey): KeyRecord | undefined {
  if (!name) return undefined;
  return {
    name,
    ...defined({ ...key, credentialsSecretRef: credentialsSecretRef && { ...credentialsSecretRef } }),
  };
}

/** Whether two records are of one name at one place: coderd cannot have both at a time. */
export function isSameKey(left: KeyRecord, right: KeyRecord): boolean {
  return (
    left.name === right.name &&
    left.organizationID === right.organizationID &&
    isSameService(left.controlPlaneURL, right.controlPlaneURL)
  );
}

/** The records with one more, which takes the place of an earlier one of the same name. */
export function withRecord(records: readonly KeyRecord[], added: KeyRecord | undefined): KeyRecord[] {
  if (!added) return [...records];
  return [...records.filter((record) => !isSameKey(record, added)), added];
}

/** All keys that the status records: in use, replaced, and about to be made. */
export function recordedKeys(status: Partial<ProvisionerStatus> | undefined): KeyRecord[] {
  const known = withRecord(status?.retiredKeys ?? [], recordOf(appliedKey(status)));
  return withRecord(known, status?.pendingKey);
}

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

/** Differs between sets of tags; the order in which they are written does not count. */
export function tagsHash(tags: Readonly<Record<string, string>>): string {
  const names = Object.keys(tags).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return fnv1a32(names.map((name) => `${name}\0${tags[name]}\0`).join(""));
}
