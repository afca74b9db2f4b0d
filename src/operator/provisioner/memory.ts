import type { Backoff, Changes, StartMemory } from "kube-controller-runtime";
import type { ProvisionerKeyRecord, ProvisionerStatus } from "../../api/v1alpha1/provisioner.ts";
import type { Entitlement } from "../../coder/entitlements.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import { coderdBackoff } from "../coderd/backoff.ts";
import type { CoderPorts } from "../coderd/ports.ts";
import type { TokenEndMemory } from "../coderd/token-end.ts";
import type { WarningMemory } from "../workload/pods/warnings.ts";
import type { FailingPodsMemory } from "../workload/replace-stuck.ts";

/** A key that remains in coderd, and the reason. */
export type FailedRemoval = CoderFailure & { readonly keyName: string };

/** Whether the Secret contains the current key. */
export type SecretProof =
  | "unproven"
  | "proven"
  /** It contains a different key or an invalid value. */
  | "refused"
  /** This coderd cannot tell. */
  | "unverifiable";

/** In-memory state of one provisioner between reconciles. */
export interface Memory extends StartMemory, TokenEndMemory, WarningMemory, FailingPodsMemory {
  /** coderd's response about the license, and the state of the control plane at that time. */
  knownEntitlement?: { readonly of: string; readonly at: number; readonly value: Entitlement };
  readonly entitlement: Backoff<CoderFailure>;
  /**
   * Facts about the key that were not written to the status yet, and the version of the object that they
   * apply to.
   */
  foundKey?: { readonly version: string; readonly changes: Changes<ProvisionerStatus> };
  /** When coderd last listed the current key. */
  keyCheckedAt?: number;
  /** When a key was last replaced because coderd did not have it, or had it with different properties. */
  disownedAt?: number;
  readonly key: Backoff<CoderFailure>;
  /** A Secret could not be written, so the next key is created only after its Secret was reserved. */
  keyStoreFailed?: true;
  /** Verified content of the Secret, with the time and the result. */
  secretProof?: {
    readonly of: string;
    readonly at: number;
    readonly result: Exclude<SecretProof, "unproven">;
  };
  /** Fingerprint of the key that coderd returned last. */
  madeKey?: string;
  /** Pods whose daemons are awaited, and since when. */
  awaited?: { readonly pods: string; readonly since: number };
  /** Back-off for deleting replaced keys. */
  readonly retirement: Backoff<FailedRemoval>;
  /** The last working token and its URL. It may outlive its Secret when a namespace is deleted. */
  session?: { readonly url: string; readonly token: string };
  /** During a deletion: the keys that were already deleted from coderd. */
  released?: ProvisionerKeyRecord[];
}

export function newMemory({ random }: Pick<CoderPorts, "random">): Memory {
  return {
    entitlement: coderdBackoff(random),
    key: coderdBackoff(random),
    retirement: coderdBackoff(random),
  };
}
