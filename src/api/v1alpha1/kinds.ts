import { type KubeObject, kind } from "kube-controller-runtime";
import type { ControlPlaneSpec, ControlPlaneStatus } from "./control-plane.ts";
import type { GroupSpec, GroupStatus } from "./group.ts";
import type { OrganizationSpec, OrganizationStatus } from "./organization.ts";
import type { ProvisionerSpec, ProvisionerStatus } from "./provisioner.ts";
import type { WorkspaceProxySpec, WorkspaceProxyStatus } from "./workspace-proxy.ts";

/*
 * The operator loads this module. It imports only types of the schemas, so the schemas are not loaded at run
 * time.
 */

const apiVersion = "coder.com/v1alpha1";

/** A custom resource. The API server accepts objects without `spec`, so reconcilers must handle them. */
interface CustomResource<Spec, Status> extends KubeObject {
  spec?: Spec;
  status?: Status;
}

export type CoderControlPlane = CustomResource<ControlPlaneSpec, ControlPlaneStatus>;
export type CoderGroup = CustomResource<GroupSpec, GroupStatus>;
export type CoderOrganization = CustomResource<OrganizationSpec, OrganizationStatus>;
export type CoderProvisioner = CustomResource<ProvisionerSpec, ProvisionerStatus>;
export type CoderWorkspaceProxy = CustomResource<WorkspaceProxySpec, WorkspaceProxyStatus>;

export const CoderControlPlane = kind<CoderControlPlane>(apiVersion, {
  kind: "CoderControlPlane",
  plural: "codercontrolplanes",
});
export const CoderGroup = kind<CoderGroup>(apiVersion, { kind: "CoderGroup", plural: "codergroups" });
export const CoderOrganization = kind<CoderOrganization>(apiVersion, {
  kind: "CoderOrganization",
  plural: "coderorganizations",
});
export const CoderProvisioner = kind<CoderProvisioner>(apiVersion, {
  kind: "CoderProvisioner",
  plural: "coderprovisioners",
});
export const CoderWorkspaceProxy = kind<CoderWorkspaceProxy>(apiVersion, {
  kind: "CoderWorkspaceProxy",
  plural: "coderworkspaceproxies",
});
