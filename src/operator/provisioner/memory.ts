import type { Backoff, Changes, StartMemory } from "kube-controller-runtime";
import type { ProvisionerKeyRecord, ProvisionerStatus } from "../../api/v1alpha1/provisioner.ts";
import type { Entitlement } from "../../coder/entitlements.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import { coderdBackoff } from "../coderd/backoff.ts";
import type { CoderPorts } from "../coderd/ports.ts";
import type { TokenEndMemory } from "../coderd/token-end.ts";
import type { WarningMemory } from "../workload/pods/warnings.ts";
import type { StuckMemory } from "../workload/replace-stuck.ts";

/** A key that is still at coderd, and why. */
export type FailedRemoval = CoderFailure & { readonly keyName: string };

/** What is known of the content of the Secret: whether it is that of the key in use. */
export type SecretProof =
  | "unproven"
  | "proven"
  /** It is another key's, or no key's. */
  | "refused"
  /** This coderd does not say. */
  | "unverifiable";

/** What the operator remembers of one provisioner between runs. */
export interface Memory extends StartMemory, TokenEndMemory, WarningMemory, StuckMemory {
  /** What coderd itself said about the license, and of which state of the control plane that was. */
  knownEntitlement?: { readonly of: string; readonly at: number; readonly value: Entitlement };
  readonly entitlement: Backoff<CoderFailure>;
  /** What a run found out of the key and left for a later status, and which version of the object it was about. */
  foundKey?: { readonly version: string; readonly changes: Changes<ProvisionerStatus> };
  /** When coderd was last seen to have the key in use. */
  keyCheckedAt?: number;
  /** When a key was last made because coderd did not have the one before, or not as it should be. */
  disownedAt?: number;
  readonly key: Backoff<CoderFailure>;
  /** A Secret could not be written, so the next key is made only when its Secret has been claimed. */
  keyStoreFailed?: true;
  /** Which content of the Secret coderd was asked about, when, and what it said. */
  secretProof?: {
    readonly of: string;
    readonly at: number;
    readonly result: Exclude<SecretProof, "unproven">;
  };
  /** A fingerprint of the key that coderd gave us last. */
  madeKey?: string;
  /** The pods whose daemons are waited for, and since when. */
  awaited?: { readonly pods: string; readonly since: number };
  /** Of deleting keys that were replaced. */
  readonly retirement: Backoff<FailedRemoval>;
  /** The token that last worked, and where: it may outlive its Secret when a whole namespace is deleted. */
  session?: { readonly url: string; readonly token: string };
  /** Of a deletion that has begun: the keys that are gone from coderd. */
  released?: ProvisionerKeyRecord[];
}

export function newMemory({ random }: Pick<CoderPorts, "random">): Memory {
  return {
    entitlement: coderdBackoff(random),
    key: coderdBackoff(random),
    retirement: coderdBackoff(random),
  };
}
