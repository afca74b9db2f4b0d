import type { ControlPlane } from "../coderd/settings.ts";
import { grantTie } from "../workload/rbac/grant-tie.ts";
import {
  grantName,
  tiedMetadata,
  type WorkspaceGrant,
  workspaceGrants,
} from "../workload/rbac/workspace-grants.ts";

/** Ties grants in other namespaces to a control plane. */
export const controlPlaneTie = grantTie("control-plane");

/** What coderd gets in each namespace in which workspaces run; what else bears our labels must not exist. */
export function controlPlaneGrants(controlPlane: ControlPlane): WorkspaceGrant[] {
  return workspaceGrants(controlPlane, metadataIn);
}

function metadataIn(controlPlane: ControlPlane, namespace: string) {
  const { identity, serviceAccount } = controlPlane;
  const named = (suffix: string) => {
    const name = grantName(serviceAccount.name, identity, { suffix });
    return tiedMetadata(controlPlane, controlPlaneTie, { namespace, name });
  };
  return { role: named("-workspace-perms"), roleBinding: named("") };
}
