import { controlPlane } from "./control-plane.ts";
import { group } from "./group.ts";
import {
  CoderControlPlane,
  CoderGroup,
  CoderOrganization,
  CoderProvisioner,
  CoderWorkspaceProxy,
} from "./kinds.ts";
import { organization } from "./organization.ts";
import { provisioner } from "./provisioner.ts";
import type { ResourceDefinition } from "./schema.ts";
import { workspaceProxy } from "./workspace-proxy.ts";

/*
 * The kinds of the API with their schemas. Only the generator and tests load this module; the running
 * operator needs no schemas.
 */

export const controlPlaneDefinition: ResourceDefinition = { kind: CoderControlPlane, ...controlPlane };
export const groupDefinition: ResourceDefinition = { kind: CoderGroup, ...group };
export const organizationDefinition: ResourceDefinition = { kind: CoderOrganization, ...organization };
export const provisionerDefinition: ResourceDefinition = { kind: CoderProvisioner, ...provisioner };
export const workspaceProxyDefinition: ResourceDefinition = { kind: CoderWorkspaceProxy, ...workspaceProxy };
