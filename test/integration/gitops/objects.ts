import type { Condition, ConditionState, Kind } from "kube-controller-runtime";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../../src/api/v1alpha1/kinds.ts";
import * as controlPlane from "../../../src/operator/control-plane/status.ts";
import * as provisioner from "../../../src/operator/provisioner/status.ts";
import * as workspaceProxy from "../../../src/operator/workspace-proxy/status.ts";

/** How the operator comes to the conditions of a kind. */
interface Reporting {
  readonly kind: Kind;
  readonly conditionTypes: Readonly<Record<string, string>>;
  readonly quietReasons: ReadonlySet<string>;
  readonly readiness: (conditions: ReadonlyMap<string, ConditionState>) => ConditionState;
}

export const kinds = {
  controlPlane: { kind: CoderControlPlane, ...controlPlane },
  provisioner: { kind: CoderProvisioner, ...provisioner },
  workspaceProxy: { kind: CoderWorkspaceProxy, ...workspaceProxy },
} satisfies Record<string, Reporting>;

export type KindName = keyof typeof kinds;

/** Status and reason of a condition; the message says both, so that a test knows whose it is. */
export type Changes = Readonly<Record<string, readonly [status: "False" | "Unknown", reason: string]>>;

/** What the operator reports when every condition is True but those given; `Ready` is as it works it out. */
export function conditions(name: KindName, changes: Changes): Condition[] {
  const { conditionTypes, readiness }: Reporting = kinds[name];
  const states = new Map(
    Object.values(conditionTypes).map((type): [string, ConditionState] => {
      const [status, reason] = changes[type] ?? (["True", "Applied"] as const);
      return [type, { status, reason, message: `${type} is ${status}: ${reason}` }];
    }),
  );
  states.set("Ready", readiness(states));
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  return [...states].map(([type, state]) => ({ type, ...state, lastTransitionTime }));
}
