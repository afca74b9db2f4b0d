import type { StartMemory } from "kube-controller-runtime";
import type { Entitlement } from "../../coder/entitlements.ts";
import type { Patience } from "../coderd/patience.ts";
import type { Retirement } from "./key/retire.ts";

/** What the operator remembers of one provisioner between runs. */
export interface Memory extends StartMemory {
  /** What coderd itself said about the licence, and of which state of the control plane that was. */
  entitlement: { readonly of: string; readonly at: number; readonly value: Entitlement };
  entitlementSetback: Patience;
  /** When coderd was last seen to have the key. */
  keyCheckedAt: number;
  keySetback: Patience;
  /** A Secret could not be written, so the next key is made only when its Secret has been claimed. */
  keyStoreFailed: true;
  /** The last failed attempt at deleting keys that were replaced. */
  retirementSetback: { readonly patience: Patience; readonly last: Retirement };
  /** The token that last worked, and where: it may outlive its Secret when a whole namespace is deleted. */
  session: { readonly url: string; readonly token: string };
}
