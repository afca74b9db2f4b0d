import type { Condition, ConditionState, Kind } from "kube-controller-runtime";
import {
  CoderControlPlane,
  CoderGroup,
  CoderOrganization,
  CoderProvisioner,
  CoderWorkspaceProxy,
} from "../../../src/api/v1alpha1/kinds.ts";
import * as controlPlane from "../../../src/operator/control-plane/status.ts";
import { conditionTypes, quietReasons, readiness } from "../../../src/operator/inside/status.ts";
import * as provisioner from "../../../src/operator/provisioner/status.ts";
import * as workspaceProxy from "../../../src/operator/workspace-proxy/status.ts";

/** How the operator comes to the conditions of a kind. */
export interface Reporting {
  readonly kind: Kind;
  /** A condition that `Ready` sums up. */
  readonly part: string;
  readonly conditionTypes: Readonly<Record<string, string>>;
  readonly quietReasons: ReadonlySet<string>;
  readonly readiness: (conditions: ReadonlyMap<string, ConditionState>) => ConditionState;
}

const entity = { part: "Synced", conditionTypes, quietReasons, readiness };

export const kinds = {
  controlPlane: { kind: CoderControlPlane, part: "DeploymentReady", ...controlPlane },
  provisioner: { kind: CoderProvisioner, part: "DeploymentReady", ...provisioner },
  workspaceProxy: { kind: CoderWorkspaceProxy, part: "DeploymentReady", ...workspaceProxy },
  organization: { kind: CoderOrganization, ...entity },
  group: { kind: CoderGroup, ...entity },
} satisfies Record<string, Reporting>;

export type KindName = keyof typeof kinds;

/** Status and reason of a condition; the message says both, so that a test knows whose it is. */
export type Changes = Readonly<Record<string, readonly [status: "False" | "Unknown", reason: string]>>;

/** The operator's status if every condition is True except those given; `Ready` is computed. */
export function conditions(name: KindName, changes: Changes): Condition[] {
  const { conditionTypes: types, readiness: sumUp }: Reporting = kinds[name];
  const states = new Map(
    Object.values(types).map((type): [string, ConditionState] => {
      const [status, reason] = changes[type] ?? (["True", "Applied"] as const);
      return [type, { status, reason, message: `${type} is ${status}: ${reason}` }];
    }),
  );
  states.set("Ready", sumUp(states));
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  return [...states].map(([type, state]) => ({ type, ...state, lastTransitionTime }));
}
