import { childMetadata } from "../names.ts";
import { grantTie } from "../workload/rbac/grant-tie.ts";
import {
  grantName,
  tiedMetadata,
  type WorkspaceGrant,
  workspaceGrants,
} from "../workload/rbac/workspace-grants.ts";
import type { Provisioner } from "./spec.ts";

/** Connects permissions in other namespaces with a provisioner. */
export const provisionerTie = grantTie("provisioner");

/** Permissions of the daemons in each workspace namespace. */
export function provisionerGrants(provisioner: Provisioner): WorkspaceGrant[] {
  return workspaceGrants(provisioner, metadataIn);
}

function metadataIn(provisioner: Provisioner, namespace: string) {
  const { childName, identity } = provisioner;
  const name = grantName(identity.name, identity, { prefix: "provisioner-" });
  const metadata =
    namespace === identity.namespace
      ? childMetadata(provisioner, childName)
      : tiedMetadata(provisioner, provisionerTie, { namespace, name });
  return { role: metadata, roleBinding: metadata };
}
