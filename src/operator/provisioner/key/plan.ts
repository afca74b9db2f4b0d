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
 * The life of a provisioner key. A plan leads to a state from which the next plan goes on:
 *
 *     ask ──► create, rotate, replace ──► (pending key on record)
 *      ▲                                     │ its mark is in a Secret       it is in none
 *      │                                     ├──► adopt ──► record ──► keep   │
 *      └──────────────────────────────────── abandon ◄───────────────────────┘
 *     copySecret ──► keep        refuse: the name is somebody else's
 *     verify ──► keep, or rotate when the Secret does not hold the key
 *     confirm ──► rotate, unless coderd accepts the key that it does not list
 *
 * `record.ts` has what the status says of keys, `state.ts` what a run knows and how it writes that down, `ask.ts` the
 * questions to coderd, `effect.ts` the acts. A rotated key stays on record until no pod uses it; then it is deleted at
 * whichever coderd has it (`retire.ts`).
 */

/** All that the decision depends on. */
export interface KeyFacts {
  readonly wanted: WantedKey;
  readonly applied: AppliedKey;
  readonly pending: KeyRecord | undefined;
  readonly retired: readonly KeyRecord[];
  /** All places in Secrets of ours that have a value. */
  readonly held: readonly HeldKey[];
  /** Absent while coderd has not been asked in this run. */
  readonly coderd: CoderdKeys | undefined;
  /** Whether it is time to compare with coderd, even if nothing has changed here. */
  readonly isCheckDue: boolean;
  readonly secret: SecretProof;
  /** coderd was asked in this run about a key that it does not list, and does not vouch for it. */
  readonly isDisowned: boolean;
}

/** Why a key has to be made, as a clause of a sentence. */
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
 * The next thing to do about the key. Each ends in a state from which the next plan goes on, so a run that
 * dies anywhere is resumed by planning anew.
 */
export type KeyPlan =
  /** All is as it should be, as far as we know. */
  | { readonly do: "keep" }
  /** What coderd has must be known: to decide what is `needed`, or only to compare. */
  | { readonly do: "ask"; readonly needed: boolean }
  /** Whether the Secret holds the key in use must be asked. */
  | { readonly do: "verify" }
  /** coderd does not list the key, which a token that may not read keys sees of all: whether it accepts it must be asked. */
  | { readonly do: "confirm" }
  /** The key is right; status knows too little of it. */
  | { readonly do: "record"; readonly key: CompleteKey }
  /** The pending key is in a Secret: it is the one in use from now on. */
  | { readonly do: "adopt"; readonly key: CompleteKey }
  /** The pending key never reached a Secret, so nobody can use it. */
  | { readonly do: "abandon"; readonly pending: KeyRecord }
  /** Only the Secret's name or data key has changed. */
  | { readonly do: "copySecret"; readonly from: SecretKey }
  /** There is no key yet. */
  | { readonly do: "create"; readonly name: string; readonly because: readonly Reason[] }
  /** Another key beside the old one, which lives on until no pod uses it. */
  | { readonly do: "rotate"; readonly name: string; readonly because: readonly Reason[] }
  /** The name is fixed and ours: the old key has to go before the new one can come. */
  | { readonly do: "replace"; readonly name: string; readonly because: readonly Reason[] }
  /** The name is fixed and belongs to a key that we did not make. */
  | { readonly do: "refuse"; readonly name: string };

/** A plan that ends in a new key. */
export type MakePlan = Extract<KeyPlan, { do: "create" | "rotate" | "replace" }>;

/** Decides what to do next about the key. */
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

/** Whether another key is asked for. While pods still change to this one that waits, so that keys do not pile up. */
function isAsked(held: HeldKey, { wanted, retired }: KeyFacts): boolean {
  if (wanted.rotation === undefined || wanted.rotation === held.rotation) return false;
  return !retired.some(({ controlPlaneURL }) => isSameService(controlPlaneURL, wanted.controlPlaneURL));
}

function askFor(facts: KeyFacts): KeyPlan {
  if (!isComplete(facts)) return { do: "ask", needed: true };
  return facts.isCheckDue ? { do: "ask", needed: false } : { do: "keep" };
}

/** The key is at coderd as it should be; what the Secret holds may be something else. */
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

/** In what the key in use differs from the one that is wanted; what status does not say is no difference. */
function driftOf({ wanted, applied, coderd }: KeyFacts): Reason[] {
  const drift: Reason[] = [];
  const differs = (recorded: string | undefined, value: string) =>
    recorded !== undefined && recorded !== value;
  if (differs(applied.controlPlaneRefName, wanted.controlPlaneRefName)) drift.push("controlPlane");
  // The domain of the cluster is not part of it: the operator chose that, by what it knew then.
  if (applied.controlPlaneURL && !isSameService(applied.controlPlaneURL, wanted.controlPlaneURL))
    drift.push("url");
  // Names are no proof: `default` is an alias, so ids decide as soon as both are known.
  const sameOrganization =
    coderd && applied.organizationID !== undefined
      ? applied.organizationID === coderd.organizationID
      : !differs(applied.organizationName, wanted.organizationName);
  if (!sameOrganization) drift.push("organization");
  if (applied.name !== undefined && !wanted.isWantedName(applied.name)) drift.push("name");
  if (differs(applied.tagsHash, tagsHash(wanted.tags))) drift.push("tags");
  return drift;
}

/** Compares the key at coderd with the one that is wanted. */
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

/** Whether a key at coderd is one that we made and wrote down. */
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
