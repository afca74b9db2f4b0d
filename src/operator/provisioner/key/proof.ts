import { fingerprint } from "kube-controller-runtime";
import type { CoderFailure } from "../../../coder/failure.ts";
import type { SecretProof } from "./plan.ts";
import { appliedKey } from "./record.ts";
import { mayPass } from "./remove.ts";
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

/** Asks coderd which key the Secret holds. What can't be told now is asked again later. */
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

const refusedAfterAll: CoderFailure = {
  kind: "transient",
  message:
    "coderd refuses the provisioner key that it made for this object; check what stands between it and the operator.",
};

function contentInUse(state: Content, { provisioner: { key } }: KeyRun["snapshot"]) {
  const { id: keyID, secretRef: place = key.secret } = appliedKey(statusOf(state));
  const secret = valueAt(state.secrets, place);
  if (secret === undefined) return undefined;
  return { secret, keyID, value: contentOf(secret), proofOf: fingerprint([secret, keyID]) };
}
