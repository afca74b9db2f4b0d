import { fingerprint } from "kube-controller-runtime";
import type { CoderClient } from "../../../coder/client.ts";
import { type CoderFailure, mayPass } from "../../../coder/failure.ts";
import type { ProvisionerKey } from "../../../coder/model.ts";
import { failed, type Result, succeeded } from "../../../coder/result.ts";
import { isSameService } from "../../workload/exposure/service.ts";
import type { SecretProof } from "../memory.ts";
import type { Provisioner } from "../spec.ts";
import { type AppliedKey, appliedKey, type CoderdKeys, type KeyRecord, type WantedKey } from "./record.ts";
import { type KeyProgress, type KeyRun, type KeyState, type KnownKeys, keyInUse, statusOf } from "./state.ts";

/** Asks coderd which keys the wanted organization has. */
export async function askForKeys(state: KeyState, { client, wanted }: KeyRun): Promise<KeyProgress> {
  const keys = await keysAtCoderd(client, wanted, appliedKey(statusOf(state)));
  return keys.ok ? { next: { ...state, coderd: keys.value } } : { failed: keys.failure };
}

async function keysAtCoderd(
  client: CoderClient,
  wanted: WantedKey,
  applied: AppliedKey,
): Promise<Result<CoderdKeys, CoderFailure>> {
  const known = knownOrganization(wanted, applied);
  if (known) {
    const keys = await client.provisionerKeys(known);
    if (keys.ok) return succeeded({ organizationID: known, keys: keys.value });
    // An organization that was deleted and made anew has another id.
    if (keys.failure.kind !== "notFound") return keys;
  }
  const [organization, keys] = await Promise.all([
    client.organization(wanted.organizationName),
    client.provisionerKeys(wanted.organizationName),
  ]);
  if (!organization.ok) return failed(organizationFailure(organization.failure, wanted));
  return keys.ok ? succeeded({ organizationID: organization.value.id, keys: keys.value }) : keys;
}

/** The organization's id, if it was found under the same name at the same coderd. */
function knownOrganization(wanted: WantedKey, applied: AppliedKey): string | undefined {
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

/** How long an answer counts for a Secret that nobody changes. */
const LASTS_MS = 60 * 60_000;

/** Identifies the content of a Secret in memory, where nothing of it is kept. */
export function contentOf(value: string): string {
  return fingerprint([value]);
}

/** What is known of the content of the Secret in use. What coderd gave us needs no proof. */
export function secretProof(
  keys: KnownKeys,
  { environment, snapshot }: Pick<KeyRun, "environment" | "snapshot">,
): SecretProof {
  const { secretProof: known, madeKey } = environment.memory;
  const content = contentInUse(keys, snapshot);
  if (!content) return "unproven";
  const isKnown = known && known.of === content.proofOf && snapshot.now - known.at < LASTS_MS;
  if (isKnown) return known.result;
  return known === undefined && madeKey === content.value ? "proven" : "unproven";
}

/** Asks coderd which key the Secret holds. What coderd does not answer now is asked again later. */
export async function verifySecret(state: KeyState, run: KeyRun): Promise<KeyProgress> {
  const { memory } = run.environment;
  const { content, answer } = await askWhose(state, run);
  if (!answer.ok && mayPass(answer.failure)) return { failed: answer.failure };
  const isHeld = answer.ok && answer.value?.id === content.keyID;
  // Another key would be refused as well: rotating again and again helps nobody.
  if (answer.ok && !isHeld && memory.madeKey === content.value) return { failed: refusedAfterAll };
  const result = answer.ok ? (isHeld ? "proven" : "refused") : "unverifiable";
  memory.secretProof = { of: content.proofOf, at: run.snapshot.now, result };
  return { next: state };
}

/**
 * Asks coderd about a key that it does not list. A list is no proof of absence: coderd leaves out what the token's user
 * may not read. Where coderd does not report whose key it is, the list is all there is.
 */
export async function confirmGone(state: KeyState, run: KeyRun): Promise<KeyProgress> {
  const { answer } = await askWhose(state, run);
  if (!answer.ok && mayPass(answer.failure)) return { failed: answer.failure };
  const { id, name } = appliedKey(statusOf(state));
  const accepted = answer.ok ? answer.value : undefined;
  const isIt = accepted && (id ? accepted.id === id : name === undefined || accepted.name === name);
  return isIt ? { failed: unlisted(accepted.name) } : { next: { ...state, isDisowned: true } };
}

/** Asks coderd whose key the Secret holds. */
async function askWhose(state: KeyState, { client, snapshot }: KeyRun) {
  const content = contentInUse(state, snapshot);
  if (!content) throw new TypeError("a Secret is asked about only when it holds something");
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

/** Whether the Secret holds the key that this process made last. */
export function isMadeHere(state: KeyState, { environment, snapshot }: KeyRun): boolean {
  const content = contentInUse(state, snapshot);
  return content !== undefined && environment.memory.madeKey === content.value;
}

function contentInUse(keys: KnownKeys, { provisioner }: KeyRun["snapshot"]) {
  const secret = keyInUse(keys, provisioner)?.value;
  if (secret === undefined) return undefined;
  const { id: keyID } = appliedKey(statusOf(keys));
  return { secret, keyID, value: contentOf(secret), proofOf: fingerprint([secret, keyID]) };
}

/** A key whose secret we have, so that coderd can be asked for it without the right to list keys. */
export interface ReferenceKey extends Pick<AppliedKey, "organizationID" | "controlPlaneURL"> {
  readonly id: string;
  readonly secret: string;
}

/** The key in use, if a Secret holds it. */
export function referenceKeyOf(keys: KnownKeys, provisioner: Provisioner): ReferenceKey | undefined {
  const { id, organizationID, controlPlaneURL } = appliedKey(statusOf(keys));
  const secret = keyInUse(keys, provisioner)?.value;
  return id && secret ? { id, secret, organizationID, controlPlaneURL } : undefined;
}

/**
 * Why a list that lacks a key is no proof that the key is gone: it also lacks one of the same organization that coderd
 * accepts. `undefined` when nothing speaks against it. No other coderd is ever sent the secret.
 */
export async function whyHidden(
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
  return mayPass(answer.failure) ? answer.failure : undefined;
}

const hidden: CoderFailure = {
  kind: "forbidden",
  why: "notPermitted",
  message:
    "The user of the token is not permitted to read provisioner keys, so the operator cannot determine whether the key still exists; use a token of a user with the owner role.",
};
