import type { Condition } from "kube-controller-runtime";
import type { LicenseStatus } from "../../../api/v1alpha1/control-plane.ts";
import type { UpgradeStatus } from "../../../api/v1alpha1/upgrade.ts";
import type { Problem } from "../../problems.ts";

/** The main fields of a condition. */
export type State = Pick<Condition, "status" | "reason" | "message">;

export interface Certificate {
  /** The Secret with the certificate. */
  readonly secret: string;
  /** What serves it: a custom resource, its Ingress or a Gateway. */
  readonly servedBy: string;
  /** Absent if it could not be read. */
  readonly expires?: string;
  readonly daysLeft?: number;
  /** Present if the Secret does not exist. */
  readonly isMissing?: true;
}

/** As in the status; only the tier is always known. */
export type License = Pick<LicenseStatus, "tier"> & Partial<LicenseStatus> & { readonly daysLeft?: number };

/** The daemons of one CoderProvisioner. Unknown numbers are absent. */
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

/** An organization or a group in coderd. */
export interface EntityReport {
  readonly name: string;
  readonly ready: State | undefined;
  readonly paused: boolean;
  readonly nameInCoder: string;
  readonly id?: string;
  /** The organization of a group. */
  readonly organization?: string;
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

/** The first user of coderd that the spec asks for. */
export interface FirstAdmin {
  readonly username: string;
  readonly state?: State;
  /** Name of the Secret with the initial password. */
  readonly passwordSecret?: string;
}

/** One control plane and the objects that belong to it. */
export interface ControlPlaneReport {
  readonly namespace: string;
  readonly name: string;
  readonly ready: State | undefined;
  readonly paused: boolean;
  readonly health?: State;
  readonly version?: string;
  readonly image?: string;
  readonly upgrade?: Upgrade;
  /** The current announcements of an upgrade at coderd. */
  readonly announced?: readonly string[];
  readonly pods: { readonly ready: number; readonly wanted: number };
  readonly url?: string;
  readonly exposure?: { readonly by: "Ingress" | "HTTPRoute"; readonly hosts: readonly string[] };
  readonly firstAdmin?: FirstAdmin;
  readonly certificates: readonly Certificate[];
  readonly license?: License;
  readonly builds?: State;
  /** Whether coderd was asked about the pools; otherwise it is unknown how busy a fixed pool is. */
  readonly isCoderdAsked: boolean;
  readonly pools: readonly PoolReport[];
  readonly proxies: readonly ProxyReport[];
  /** Those that need attention first. */
  readonly organizations: readonly EntityReport[];
  readonly groups: readonly EntityReport[];
  readonly problems: readonly Problem[];
  /** Newest first. */
  readonly events: readonly EventReport[];
}

export interface StatusReport {
  /** Present if no operator is running; absent if one is, or if this could not be checked. */
  readonly operator?: Problem;
  readonly controlPlanes: readonly ControlPlaneReport[];
  /**
   * Problems of objects whose control plane is not in the report.
   */
  readonly others: readonly Problem[];
  /** What could not be read, one line each. */
  readonly gaps: readonly string[];
}
