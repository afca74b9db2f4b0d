import type { ControlPlane } from "../coderd/settings.ts";
import { grantTie } from "../workload/rbac/grant-tie.ts";
import {
  grantName,
  tiedMetadata,
  type WorkspaceGrant,
  workspaceGrants,
} from "../workload/rbac/workspace-grants.ts";

/** Connects permissions in other namespaces with a control plane. */
export const controlPlaneTie = grantTie("control-plane");

/** Permissions of coderd in each workspace namespace. Other objects with these labels are deleted. */
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
