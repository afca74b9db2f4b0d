import type { Secret, Stored } from "kube-controller-runtime";
import { CoderWorkspaceProxy } from "../../src/api/v1alpha1/kinds.ts";
import type { Snapshot } from "../../src/operator/workspace-proxy/observe.ts";
import { withDefaults } from "../../src/operator/workspace-proxy/spec.ts";

/** A workspace proxy in a cluster that has nothing but these Secrets. */
export function snapshotOf(
  object: Stored<CoderWorkspaceProxy>,
  secrets: Readonly<Record<string, Secret>> = {},
): Snapshot {
  return {
    now: 0,
    object,
    owner: { kind: CoderWorkspaceProxy, object, labels: {} },
    proxy: withDefaults(object),
    controlPlane: undefined,
    coderdService: undefined,
    service: undefined,
    secrets: [],
    keptToken: undefined,
    deployment: undefined,
    pods: [],
    warnings: new Map(),
    refusal: undefined,
    removePod: async () => {},
    missingGatewayKind: undefined,
    ingressClasses: undefined,
    sources: { secret: (name) => secrets[name], configMap: () => undefined },
  };
}
