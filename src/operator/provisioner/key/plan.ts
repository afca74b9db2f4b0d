import { isDeepStrictEqual } from "node:util";
import type { ProvisionerKey } from "../../../coder/model.ts";
import { distinctiveTags } from "../../../coder/tags.ts";
import type { SecretKey } from "../../normalize.ts";
import { isSameService } from "../../workload/exposure/service.ts";
import type { SecretProof } from "../memory.ts";
import {
  type AppliedKey,
  type CoderdKeys,
  type CompleteKey,
  completeKey,
  type KeyRecord,
  originOf,
  tagsHash,
  type WantedKey,
} from "./record.ts";
import type { HeldKey } from "./secret.ts";

/*
 * The lifecycle of a provisioner key. Each plan leads to a state from which planning continues:
 *
 *     ask ──► create, rotate, replace ──► (pending key recorded)
 *      ▲                                     │ a Secret has its mark         no Secret has it
 *      │                                     ├──► adopt ──► record ──► keep   │
 *      └──────────────────────────────────── abandon ◄───────────────────────┘
 *     copySecret ──► keep        refuse: the name belongs to another key
 *     verify ──► keep, or rotate if the Secret does not contain the key
 *     confirm ──► rotate, unless coderd accepts the unlisted key
 *
 * `record.ts` contains the records of keys in the status, `state.ts` the state of a reconcile, `ask.ts` the requests to
 * coderd, and `effect.ts` the actions. A rotated key remains recorded until no pod uses it; then it is deleted from its
 * coderd (`retire.ts`).
 */

/** Facts for the decision. */
export interface KeyFacts {
  readonly wanted: WantedKey;
  readonly applied: AppliedKey;
  readonly pending: KeyRecord | undefined;
  readonly retired: readonly KeyRecord[];
  /** All keys in Secrets of the provisioner that have a value. */
  readonly held: readonly HeldKey[];
  /** Absent if coderd was not asked in this reconcile. */
  readonly coderd: CoderdKeys | undefined;
  /** Whether the periodic comparison with coderd is due. */
  readonly isCheckDue: boolean;
  readonly secret: SecretProof;
  /** coderd was asked in this reconcile about a key that it does not list, and did not confirm it. */
  readonly isDisowned: boolean;
}

/** Reasons for a new key, as clauses. */
const words = {
  new: "no key existed",
  secretLost: "its value was missing from the Secret",
  requested: "a new key was requested",
  secretRefused: "its Secret contained a different value",
  controlPlane: "the control plane changed",
  url: "the control plane's URL changed",
  organization: "the organization changed",
  name: "its name changed",
  tags: "the tags changed",
  deletedAtCoderd: "the key no longer existed in coderd",
  tagsAtCoderd: "the key had different tags in coderd",
} as const;

export type Reason = keyof typeof words;

export function inWords(because: readonly Reason[]): string {
  return because.map((reason) => words[reason]).join(", ");
}

/**
 * The next action for the key. Each leads to a state from which planning continues, so an interrupted
 * reconcile is resumed by planning again.
 */
export type KeyPlan =
  /** Everything matches, as far as known. */
  | { readonly do: "keep" }
  /** List the keys in coderd: either `needed` for a decision, or only for a comparison. */
  | { readonly do: "ask"; readonly needed: boolean }
  /** Verify that the Secret contains the current key. */
  | { readonly do: "verify" }
  /**
   * coderd does not list the key, as for a token without the permission to read keys. Ask coderd whether it
   * accepts the key.
   */
  | { readonly do: "confirm" }
  /** The key matches, but the status is incomplete. */
  | { readonly do: "record"; readonly key: CompleteKey }
  /** A Secret contains the pending key, so it becomes the current one. */
  | { readonly do: "adopt"; readonly key: CompleteKey }
  /** No Secret contains the pending key, so it is not usable. */
  | { readonly do: "abandon"; readonly pending: KeyRecord }
  /** Only the name or the data key of the Secret has changed. */
  | { readonly do: "copySecret"; readonly from: SecretKey }
  /** There is no key yet. */
  | { readonly do: "create"; readonly name: string; readonly because: readonly Reason[] }
  /** Create a second key. The old one remains until no pod uses it. */
  | { readonly do: "rotate"; readonly name: string; readonly because: readonly Reason[] }
  /** The name is fixed and belongs to the old key, which must be deleted first. */
  | { readonly do: "replace"; readonly name: string; readonly because: readonly Reason[] }
  /** The name is fixed and belongs to a key that the operator did not create. */
  | { readonly do: "refuse"; readonly name: string };

/** A plan that creates a key. */
export type MakePlan = Extract<KeyPlan, { do: "create" | "rotate" | "replace" }>;

/** Decides the next action for the key. */
export function planKey(facts: KeyFacts): KeyPlan {
  const { wanted, applied, pending } = facts;
  if (pending) return planPending(pending, facts);
  const place = applied.secretRef ?? wanted.secretRef;
  const held = facts.held.find((candidate) => isSamePlace(candidate.place, place));
  if (!held) return make(facts, [applied.name ? "secretLost" : "new"]);
  if (!isSamePlace(place, wanted.secretRef)) return { do: "copySecret", from: place };
  const drift = [...(isAsked(held, facts) ? (["requested"] as const) : []), ...driftOf(facts)];
  if (drift.length > 0) return make(facts, drift);
  const plan = facts.coderd ? compare(held, facts.coderd, facts) : askFor(facts);
  return plan.do === "keep" ? planSecret(facts) : plan;
}

/**
 * Whether a rotation was requested. Waits while pods are still changing to the current key, so that keys do
 * not accumulate.
 */
function isAsked(held: HeldKey, { wanted, retired }: KeyFacts): boolean {
  if (wanted.rotation === undefined || wanted.rotation === held.rotation) return false;
  return !retired.some(({ controlPlaneURL }) => isSameService(controlPlaneURL, wanted.controlPlaneURL));
}

function askFor(facts: KeyFacts): KeyPlan {
  if (!isComplete(facts)) return { do: "ask", needed: true };
  return facts.isCheckDue ? { do: "ask", needed: false } : { do: "keep" };
}

/** The key in coderd matches; the Secret may contain a different value. */
function planSecret(facts: KeyFacts): KeyPlan {
  if (facts.secret === "refused") return make(facts, ["secretRefused"]);
  return facts.secret === "unproven" ? { do: "verify" } : { do: "keep" };
}

function planPending(pending: KeyRecord, { wanted, applied, held }: KeyFacts): KeyPlan {
  const holds = ({ attempt }: HeldKey) => attempt !== undefined && attempt === pending.attempt;
  const places = [wanted.secretRef, applied.secretRef, ...held.map(({ place }) => place)];
  const secretRef = places.find(
    (place) => place && held.some((key) => isSamePlace(key.place, place) && holds(key)),
  );
  const key = secretRef && completeKey(pending, secretRef);
  return key ? { do: "adopt", key } : { do: "abandon", pending };
}

function isSamePlace(left: SecretKey, right: SecretKey): boolean {
  return left.name === right.name && left.key === right.key;
}

/** How the current key differs from the desired one. Missing values in the status do not count. */
function driftOf({ wanted, applied, coderd }: KeyFacts): Reason[] {
  const drift: Reason[] = [];
  const differs = (recorded: string | undefined, value: string) =>
    recorded !== undefined && recorded !== value;
  if (differs(applied.controlPlaneRefName, wanted.controlPlaneRefName)) drift.push("controlPlane");
  // Ignores the cluster domain, which the operator determined itself.
  if (applied.controlPlaneURL && !isSameService(applied.controlPlaneURL, wanted.controlPlaneURL))
    drift.push("url");
  // Names are not conclusive, because `default` is an alias; if both IDs are known, they are compared.
  const sameOrganization =
    coderd && applied.organizationID !== undefined
      ? applied.organizationID === coderd.organizationID
      : !differs(applied.organizationName, wanted.organizationName);
  if (!sameOrganization) drift.push("organization");
  if (applied.name !== undefined && !wanted.isWantedName(applied.name)) drift.push("name");
  if (differs(applied.tagsHash, tagsHash(wanted.tags))) drift.push("tags");
  return drift;
}

/** Compares the key in coderd with the desired one. */
function compare(held: HeldKey, coderd: CoderdKeys, facts: KeyFacts): KeyPlan {
  const { wanted, applied } = facts;
  const name = applied.name ?? held.keyName ?? wanted.name;
  const real = coderd.keys.find((key) => (applied.id ? key.id === applied.id : key.name === name));
  if (!real) {
    const isGone = facts.isDisowned || facts.secret === "refused";
    return isGone ? make(facts, ["deletedAtCoderd"]) : { do: "confirm" };
  }
  if (!isDeepStrictEqual(distinctiveTags(real.tags), distinctiveTags(wanted.tags)))
    return make(facts, ["tagsAtCoderd"]);
  const { secretRef } = wanted;
  const key: CompleteKey = { name: real.name, id: real.id, ...originOf(wanted, coderd), secretRef };
  return isDeepStrictEqual(key, { ...applied }) ? { do: "keep" } : { do: "record", key };
}

function isComplete({ applied, wanted }: KeyFacts): boolean {
  const known = Object.values(applied).every((value) => value !== undefined);
  return known && isDeepStrictEqual(applied.credentialsSecretRef, wanted.credentialsSecretRef);
}

function make(facts: KeyFacts, because: readonly Reason[]): KeyPlan {
  const { wanted, applied, coderd } = facts;
  if (!coderd) return { do: "ask", needed: true };
  const beside = applied.name === undefined ? "create" : "rotate";
  const holder = coderd.keys.find(({ name }) => name === wanted.name);
  if (!holder) return { do: beside, name: wanted.name, because };
  if (!wanted.nameIsFixed) return { do: beside, name: wanted.freshName, because };
  if (!isOurs(holder, coderd, facts)) return { do: "refuse", name: wanted.name };
  return { do: "replace", name: wanted.name, because };
}

/** Whether the operator created and recorded a key. */
function isOurs(key: ProvisionerKey, coderd: CoderdKeys, { applied, retired }: KeyFacts): boolean {
  const isIt = (recorded: Pick<AppliedKey, "id" | "name" | "organizationID">) =>
    recorded.id
      ? recorded.id === key.id
      : recorded.name === key.name &&
        (recorded.organizationID ?? coderd.organizationID) === coderd.organizationID;
  return (
    isIt(applied) || retired.some((record) => isIt({ id: undefined, organizationID: undefined, ...record }))
  );
}
