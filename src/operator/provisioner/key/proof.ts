import { fingerprint } from "kube-controller-runtime";
import { type CoderFailure, mayPass } from "../../../coder/failure.ts";
import type { SecretProof } from "./plan.ts";
import { appliedKey } from "./record.ts";
import { valueAt } from "./secret.ts";
import { type KeyProgress, type KeyRun, type KeyState, statusOf } from "./state.ts";

/** How long an answer counts for a Secret that nobody changes. */
const LASTS_MS = 60 * 60_000;

/** Identifies the content of a Secret in memory, where nothing of it is kept. */
export function contentOf(value: string): string {
  return fingerprint([value]);
}

type Content = Pick<KeyState, "object" | "unwritten" | "secrets">;

/** What is known of the content of the Secret in use. What coderd gave us needs no proof. */
export function secretProof(
  state: Content,
  { environment, snapshot }: Pick<KeyRun, "environment" | "snapshot">,
): SecretProof {
  const { secretProof: known, madeKey } = environment.memory;
  const content = contentInUse(state, snapshot);
  if (!content) return "unproven";
  const isKnown = known && known.of === content.proofOf && snapshot.now - known.at < LASTS_MS;
  if (isKnown) return known.result;
  return known === undefined && madeKey === content.value ? "proven" : "unproven";
}

/** Asks coderd which key the Secret holds. What coderd does not answer now is asked again later. */
export async function verifySecret(state: KeyState, run: KeyRun): Promise<KeyProgress> {
  const { environment, snapshot, client } = run;
  const { memory } = environment;
  const content = contentInUse(state, snapshot);
  if (!content) throw new TypeError("a Secret is verified only when it holds something");
  const answer = await client.provisionerKeyOf(content.secret);
  if (!answer.ok && mayPass(answer.failure)) return { failed: answer.failure };
  const isHeld = answer.ok && answer.value?.id === content.keyID;
  // Another key would be refused as well: rotating again and again helps nobody.
  if (answer.ok && !isHeld && memory.madeKey === content.value) return { failed: refusedAfterAll };
  const result = answer.ok ? (isHeld ? "proven" : "refused") : "untold";
  memory.secretProof = { of: content.proofOf, at: snapshot.now, result };
  return { next: state };
}

/**
 * Asks coderd about a key that it does not list. A list is no proof of absence: coderd leaves out what the token's user
 * may not read. Where coderd does not tell whose key it is, the list is all there is.
 */
export async function confirmGone(state: KeyState, { client, snapshot }: KeyRun): Promise<KeyProgress> {
  const content = contentInUse(state, snapshot);
  if (!content) throw new TypeError("a key is asked about only when a Secret holds it");
  const answer = await client.provisionerKeyOf(content.secret);
  if (!answer.ok && mayPass(answer.failure)) return { failed: answer.failure };
  const { id, name } = appliedKey(statusOf(state));
  const accepted = answer.ok ? answer.value : undefined;
  const isIt = accepted && (id ? accepted.id === id : name === undefined || accepted.name === name);
  return isIt ? { failed: unlisted(accepted.name) } : { next: { ...state, isDisowned: true } };
}

function unlisted(name: string): CoderFailure {
  const message = `coderd accepts key "${name}" and does not list it for the token's user, who may not read provisioner keys.`;
  return { kind: "forbidden", why: "notPermitted", message };
}

const refusedAfterAll: CoderFailure = {
  kind: "transient",
  message:
    "coderd refuses the provisioner key that it made for this object; check what stands between it and the operator.",
};

/** Whether the Secret holds the key that this process made last. */
export function isMadeHere(state: Content, { environment, snapshot }: KeyRun): boolean {
  const content = contentInUse(state, snapshot);
  return content !== undefined && environment.memory.madeKey === content.value;
}

function contentInUse(state: Content, { provisioner: { key } }: KeyRun["snapshot"]) {
  const { id: keyID, secretRef: place = key.secret } = appliedKey(statusOf(state));
  const secret = valueAt(state.secrets, place);
  if (secret === undefined) return undefined;
  return { secret, keyID, value: contentOf(secret), proofOf: fingerprint([secret, keyID]) };
}
