import type { Condition } from "kube-controller-runtime";
import type { LicenseStatus } from "../../../api/v1alpha1/control-plane.ts";
import type { UpgradeStatus } from "../../../api/v1alpha1/upgrade.ts";
import type { Problem } from "../../problems.ts";

/** A condition in a few words. */
export type State = Pick<Condition, "status" | "reason" | "message">;

export interface Certificate {
  /** The Secret that holds it. */
  readonly secret: string;
  /** What serves it: an object of ours, its Ingress or a Gateway. */
  readonly servedBy: string;
  /** Absent when it could not be read. */
  readonly expires?: string;
  readonly daysLeft?: number;
  /** Present when there is no such Secret. */
  readonly isMissing?: true;
}

/** As the status has it; where nothing is known but the tier, that alone. */
export type License = Pick<LicenseStatus, "tier"> & Partial<LicenseStatus> & { readonly daysLeft?: number };

/** The daemons of one CoderProvisioner. Numbers that nobody knows are absent. */
export interface PoolReport {
  readonly name: string;
  readonly ready: State | undefined;
  readonly paused: boolean;
  readonly daemons: number;
  readonly wanted: number;
  readonly busy?: number;
  readonly idle?: number;
  readonly pending?: number;
  /** `min-max` of a pool that follows the queue. */
  readonly limits?: string;
  readonly organization?: string;
  readonly tags: Readonly<Record<string, string>>;
}

export interface ProxyReport {
  readonly name: string;
  readonly ready: State | undefined;
  readonly paused: boolean;
  readonly pods: number;
  readonly wanted: number;
  readonly health?: string;
  readonly host?: string;
}

export interface EventReport {
  readonly at: string;
  readonly type: string;
  readonly reason: string;
  /** `kind/name`. */
  readonly object: string;
  readonly message: string;
  readonly count: number;
}

export type Upgrade = Pick<UpgradeStatus, "stage" | "from" | "to" | "since" | "message">;

/** One control plane, and all that belongs to it. */
export interface ControlPlaneReport {
  readonly namespace: string;
  readonly name: string;
  readonly ready: State | undefined;
  readonly paused: boolean;
  readonly health?: State;
  readonly version?: string;
  readonly image?: string;
  readonly upgrade?: Upgrade;
  /** What an upgrade announces at coderd now. */
  readonly announced?: readonly string[];
  readonly pods: { readonly ready: number; readonly wanted: number };
  readonly url?: string;
  readonly exposure?: { readonly by: "Ingress" | "HTTPRoute"; readonly hosts: readonly string[] };
  readonly certificates: readonly Certificate[];
  readonly license?: License;
  readonly builds?: State;
  /** Whether the person has coderd asked about the pools; without that nobody knows how busy a fixed one is. */
  readonly isCoderdAsked: boolean;
  readonly pools: readonly PoolReport[];
  readonly proxies: readonly ProxyReport[];
  readonly problems: readonly Problem[];
  /** The newest first. */
  readonly events: readonly EventReport[];
}

export interface StatusReport {
  /** That no operator is at work; absent when one is, or when nobody could look for it. */
  readonly operator?: Problem;
  readonly controlPlanes: readonly ControlPlaneReport[];
  /** Provisioners and proxies whose control plane is not among these, as `kind/name`, and why that matters. */
  readonly others: readonly Problem[];
  /** What could not be read, a line for each. */
  readonly gaps: readonly string[];
}
