import { childMetadata } from "../names.ts";
import { grantTie } from "../workload/rbac/grant-tie.ts";
import {
  grantName,
  tiedMetadata,
  type WorkspaceGrant,
  workspaceGrants,
} from "../workload/rbac/workspace-grants.ts";
import type { Provisioner } from "./spec.ts";

/** Ties grants in other namespaces to a provisioner. */
export const provisionerTie = grantTie("provisioner");

/** What the daemons get in each namespace in which they build workspaces. */
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
