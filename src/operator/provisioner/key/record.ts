import { type Changes, fnv1a32, type Random } from "kube-controller-runtime";
import { provisionerDefaults, tokenSecretKey } from "../../../api/v1alpha1/defaults.ts";
import { maxKeyNameLength } from "../../../api/v1alpha1/limits.ts";
import type { ProvisionerKeyRecord, ProvisionerStatus } from "../../../api/v1alpha1/provisioner.ts";
import type { ProvisionerKey } from "../../../coder/model.ts";
import { shortName } from "../../names.ts";
import { defined, type SecretKey, secretKey } from "../../normalize.ts";
import { isSameService } from "../../workload/exposure/service.ts";
import type { Provisioner } from "../spec.ts";

/** A key in coderd, as recorded in the status. */
export type KeyRecord = ProvisionerKeyRecord;

/** A current key with all properties, except for the ID right after its creation. */
export type CompleteKey = {
  readonly [Field in keyof Omit<AppliedKey, "id">]-?: NonNullable<AppliedKey[Field]>;
} & {
  readonly id: string | undefined;
};

/** The key that results from the spec, the control plane and the credentials. */
export interface WantedKey {
  readonly controlPlaneRefName: string;
  readonly controlPlaneURL: string;
  readonly credentialsSecretRef: SecretKey;
  readonly organizationName: string;
  readonly tags: Readonly<Record<string, string>>;
  /** The preferred name; required if it is fixed. */
  readonly name: string;
  readonly nameIsFixed: boolean;
  /** The name to use if the preferred one is taken. */
  readonly freshName: string;
  /** Whether a key can keep its name. */
  readonly isWantedName: (name: string) => boolean;
  readonly secretRef: SecretKey;
  /** The requested rotation, if any. */
  readonly rotation?: string | undefined;
}

/** Keys of the desired organization in coderd. */
export interface CoderdKeys {
  readonly organizationID: string;
  readonly keys: readonly ProvisionerKey[];
}

/** The current key according to the status. Values may be missing, because earlier releases recorded less. */
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

/** Converts a pending key to a current one, or `undefined` if the record is incomplete. */
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

/** Properties of a new key to record, except for its name. */
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

/** Status fields of the current key. */
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

/** A record to find the current key after another replaces it in the status. */
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

/** Whether two records have the same name and place, where coderd can have only one key. */
export function isSameKey(left: KeyRecord, right: KeyRecord): boolean {
  return (
    left.name === right.name &&
    left.organizationID === right.organizationID &&
    isSameService(left.controlPlaneURL, right.controlPlaneURL)
  );
}

/** Adds a record, replacing an earlier one with the same name. */
export function withRecord(records: readonly KeyRecord[], added: KeyRecord | undefined): KeyRecord[] {
  if (!added) return [...records];
  return [...records.filter((record) => !isSameKey(record, added)), added];
}

/** All keys in the status: current, retired and pending. */
export function recordedKeys(status: Partial<ProvisionerStatus> | undefined): KeyRecord[] {
  const known = withRecord(status?.retiredKeys ?? [], recordOf(appliedKey(status)));
  return withRecord(known, status?.pendingKey);
}

const SUFFIX = /^-[0-9a-f]{8}$/;
const SUFFIX_LENGTH = 9;

/** Prefix of a key's name if the plain name is taken, as during a rotation. */
function stem({ identity }: Pick<Provisioner, "identity">): string {
  const longest = shortName(identity.name, { suffix: "-00000000", max: maxKeyNameLength });
  return longest.slice(0, -SUFFIX_LENGTH);
}

/** A name that no key had before. */
export function freshKeyName(provisioner: Pick<Provisioner, "identity">, random: Random): string {
  return `${stem(provisioner)}-${hex(random)}`;
}

/** Whether a key has the name in the spec, or one that the operator could choose. */
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

/** Hash of a set of tags, independent of their order. */
export function tagsHash(tags: Readonly<Record<string, string>>): string {
  const names = Object.keys(tags).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return fnv1a32(names.map((name) => `${name}\0${tags[name]}\0`).join(""));
}
