import { fingerprint } from "kube-controller-runtime";
import type { CoderClient } from "../../../coder/client.ts";
import { type CoderFailure, mayResolve } from "../../../coder/failure.ts";
import type { ProvisionerKey } from "../../../coder/model.ts";
import { failed, type Result, succeeded } from "../../../coder/result.ts";
import { isSameService } from "../../workload/exposure/service.ts";
import type { SecretProof } from "../memory.ts";
import type { Provisioner } from "../spec.ts";
import { type AppliedKey, appliedKey, type CoderdKeys, type KeyRecord, type WantedKey } from "./record.ts";
import {
  type KeyProgress,
  type KeyRecords,
  type KeyRun,
  type KeyState,
  keyInUse,
  statusOf,
} from "./state.ts";

/** Lists the keys of the desired organization in coderd. */
export async function askForKeys(state: KeyState, { client, wanted }: KeyRun): Promise<KeyProgress> {
  const keys = await keysAtCoderd(client, wanted, appliedKey(statusOf(state)));
  return keys.ok ? { next: { ...state, coderd: keys.value } } : { failed: keys.failure };
}

async function keysAtCoderd(
  client: CoderClient,
  wanted: WantedKey,
  applied: AppliedKey,
): Promise<Result<CoderdKeys, CoderFailure>> {
  const known = resolvedOrganization(wanted, applied);
  if (known) {
    const keys = await client.provisionerKeys(known);
    if (keys.ok) return succeeded({ organizationID: known, keys: keys.value });
    // A recreated organization has a new ID.
    if (keys.failure.kind !== "notFound") return keys;
  }
  const [organization, keys] = await Promise.all([
    client.organization(wanted.organizationName),
    client.provisionerKeys(wanted.organizationName),
  ]);
  if (!organization.ok) return failed(organizationFailure(organization.failure, wanted));
  return keys.ok ? succeeded({ organizationID: organization.value.id, keys: keys.value }) : keys;
}

/** The organization ID, if it was resolved for the same name in the same coderd. */
function resolvedOrganization(wanted: WantedKey, applied: AppliedKey): string | undefined {
  const isSame =
    applied.organizationName === wanted.organizationName &&
    isSameService(applied.controlPlaneURL, wanted.controlPlaneURL) &&
    applied.controlPlaneRefName === wanted.controlPlaneRefName;
  return isSame ? applied.organizationID : undefined;
}

function organizationFailure(failure: CoderFailure, { organizationName }: WantedKey): CoderFailure {
  if (failure.kind !== "notFound") return failure;
  const message = `Organization "${organizationName}" does not exist in coderd, or the user of the token is not a member; create it or correct spec.organizationName.`;
  return { kind: "notFound", message };
}

export function nameTaken(name: string, { organizationName }: WantedKey): CoderFailure {
  const message = `A key named "${name}" already exists in organization "${organizationName}" but does not belong to this provisioner; change spec.key.name or delete the existing key.`;
  return { kind: "duplicate", message };
}

/** Maximum age of a result for an unchanged Secret. */
const PROOF_VALID_MS = 60 * 60_000;

/** Identifies the content of a Secret in memory without storing it. */
export function contentOf(value: string): string {
  return fingerprint([value]);
}

/**
 * Whether the content of the current Secret is verified. A value that coderd just returned needs no
 * verification.
 */
export function secretProof(
  keys: KeyRecords,
  { environment, snapshot }: Pick<KeyRun, "environment" | "snapshot">,
): SecretProof {
  const { secretProof: known, madeKey } = environment.memory;
  const content = contentInUse(keys, snapshot);
  if (!content) return "unproven";
  const isKnown = known && known.of === content.proofOf && snapshot.now - known.at < PROOF_VALID_MS;
  if (isKnown) return known.result;
  return known === undefined && madeKey === content.value ? "proven" : "unproven";
}

/** Asks coderd which key the Secret contains. Retries later if coderd does not respond. */
export async function verifySecret(state: KeyState, run: KeyRun): Promise<KeyProgress> {
  const { memory } = run.environment;
  const { content, answer } = await askKeyOwner(state, run);
  if (!answer.ok && mayResolve(answer.failure)) return { failed: answer.failure };
  const isHeld = answer.ok && answer.value?.id === content.keyID;
  // coderd would reject another key as well, so rotating again does not help.
  if (answer.ok && !isHeld && memory.madeKey === content.value) return { failed: refusedAfterAll };
  const result = answer.ok ? (isHeld ? "proven" : "refused") : "unverifiable";
  memory.secretProof = { of: content.proofOf, at: run.snapshot.now, result };
  return { next: state };
}

/**
 * Asks coderd about a key that it does not list, because coderd omits keys that the user of the token is not
 * permitted to read. If coderd cannot tell whose key a secret is, the list is conclusive.
 */
export async function confirmGone(state: KeyState, run: KeyRun): Promise<KeyProgress> {
  const { answer } = await askKeyOwner(state, run);
  if (!answer.ok && mayResolve(answer.failure)) return { failed: answer.failure };
  const { id, name } = appliedKey(statusOf(state));
  const accepted = answer.ok ? answer.value : undefined;
  const isIt = accepted && (id ? accepted.id === id : name === undefined || accepted.name === name);
  return isIt ? { failed: unlisted(accepted.name) } : { next: { ...state, isDisowned: true } };
}

/** Asks coderd whose key the Secret contains. */
async function askKeyOwner(state: KeyState, { client, snapshot }: KeyRun) {
  const content = contentInUse(state, snapshot);
  if (!content) throw new TypeError("only a Secret with a value is verified");
  return { content, answer: await client.provisionerKeyOf(content.secret) };
}

function unlisted(name: string): CoderFailure {
  const message = `coderd accepts key "${name}", but does not list it because the user of the token is not permitted to read provisioner keys.`;
  return { kind: "forbidden", why: "notPermitted", message };
}

const refusedAfterAll: CoderFailure = {
  kind: "transient",
  message:
    "coderd rejects the provisioner key that it created for this object; check the proxies between the operator and coderd.",
};

/** Whether the Secret contains the key that this process created last. */
export function isMadeHere(state: KeyState, { environment, snapshot }: KeyRun): boolean {
  const content = contentInUse(state, snapshot);
  return content !== undefined && environment.memory.madeKey === content.value;
}

function contentInUse(keys: KeyRecords, { provisioner }: KeyRun["snapshot"]) {
  const secret = keyInUse(keys, provisioner)?.value;
  if (secret === undefined) return undefined;
  const { id: keyID } = appliedKey(statusOf(keys));
  return { secret, keyID, value: contentOf(secret), proofOf: fingerprint([secret, keyID]) };
}

/** A key with a known secret, so that coderd can be asked about it without the permission to list keys. */
export interface ReferenceKey extends Pick<AppliedKey, "organizationID" | "controlPlaneURL"> {
  readonly id: string;
  readonly secret: string;
}

/** The current key, if a Secret contains it. */
export function referenceKeyOf(keys: KeyRecords, provisioner: Provisioner): ReferenceKey | undefined {
  const { id, organizationID, controlPlaneURL } = appliedKey(statusOf(keys));
  const secret = keyInUse(keys, provisioner)?.value;
  return id && secret ? { id, secret, organizationID, controlPlaneURL } : undefined;
}

/**
 * Returns why a list without the key is not conclusive: it also lacks a key of the same organization that
 * coderd accepts. Otherwise `undefined`. Sends the secret only to its own coderd.
 */
export async function hiddenReason(
  record: KeyRecord,
  reference: ReferenceKey | undefined,
  { client, listed }: { readonly client: CoderClient; readonly listed: readonly ProvisionerKey[] },
): Promise<CoderFailure | undefined> {
  if (!reference || listed.some(({ id }) => id === reference.id)) return undefined;
  const isNeighbor =
    record.organizationID === reference.organizationID &&
    isSameService(record.controlPlaneURL, reference.controlPlaneURL);
  if (!isNeighbor) return undefined;
  const answer = await client.provisionerKeyOf(reference.secret);
  if (answer.ok) return answer.value?.id === reference.id ? hidden : undefined;
  return mayResolve(answer.failure) ? answer.failure : undefined;
}

const hidden: CoderFailure = {
  kind: "forbidden",
  why: "notPermitted",
  message:
    "The user of the token is not permitted to read provisioner keys, so the operator cannot determine whether the key still exists; use a token of a user with the owner role.",
};
