import type { ControlPlaneStatus } from "../../../src/api/v1alpha1/control-plane.ts";
import type { GroupStatus } from "../../../src/api/v1alpha1/group.ts";
import type { ProvisionerStatus } from "../../../src/api/v1alpha1/provisioner.ts";
import type { WorkspaceProxyStatus } from "../../../src/api/v1alpha1/workspace-proxy.ts";
import type { Fleet } from "../fleet.ts";

/** An object of the fleet as the API server has it. */
export interface SeenObject {
  readonly uid: string;
  readonly generation: number;
  readonly status: Partial<ControlPlaneStatus & ProvisionerStatus & WorkspaceProxyStatus & GroupStatus>;
}

/** Something that the operator made in the cluster. */
export interface SeenChild {
  readonly kind: string;
  readonly name: string;
  readonly ownerUid: string | undefined;
}

interface SeenKey {
  readonly name: string;
  /** By the name that specs use. */
  readonly organization: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly plaintext: string;
}

interface ObservedProxy {
  readonly name: string;
  readonly displayName: string;
  readonly token: string;
}

interface SeenGroup {
  readonly id: string;
  readonly name: string;
  /** By the name that specs use. */
  readonly organization: string;
  readonly quota: number;
}

/** A token of the operator in coderd's database. */
export interface SeenToken {
  readonly id: string;
  /** SHA-256 of the secret half, in hexadecimal digits. */
  readonly hash: string;
}

export interface SeenCoderd {
  readonly keys: readonly SeenKey[];
  readonly proxies: readonly ObservedProxy[];
  /** Without those of everyone in an organization. */
  readonly groups: readonly SeenGroup[];
  readonly licenses: readonly string[];
  readonly tokens: readonly SeenToken[];
}

/** The state of all systems at one moment. */
export interface Evidence {
  readonly fleet: Fleet;
  readonly licenses: Readonly<Record<string, string>>;
  /** By name. */
  readonly objects: ReadonlyMap<string, SeenObject>;
  readonly children: readonly SeenChild[];
  /** The values in the operator's Secrets, by the Secret's name. */
  readonly secrets: ReadonlyMap<string, string>;
  /** By the name of the control plane. */
  readonly coderds: ReadonlyMap<string, SeenCoderd>;
  /** What the operator reported that it had to leave behind (see `leftBehind`), and why. */
  readonly reported: ReadonlyMap<string, string>;
}

/** How a key, a proxy or a group, which has an ID, is named among those left behind. */
export function leftBehind(what: "key" | "proxy" | "group", name: string): string {
  return `${what} ${name}`;
}

/** Says, in one sentence each, where the world is not as it must be; nothing when all is well. */
export type Invariant = (evidence: Evidence) => string[];
