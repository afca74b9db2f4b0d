import { type KubeObject, kind } from "kube-controller-runtime";
import type { ControlPlaneSpec, ControlPlaneStatus } from "./control-plane.ts";
import type { ProvisionerSpec, ProvisionerStatus } from "./provisioner.ts";
import type { WorkspaceProxySpec, WorkspaceProxyStatus } from "./workspace-proxy.ts";

/*
 * The module that the operator loads: the schemas themselves stay out of the running process, only their
 * types come from there.
 */

const apiVersion = "coder.com/v1alpha1";

/** An object of ours. `spec` may be absent: the API server accepts that, so reconcilers must too. */
interface CustomResource<Spec, Status> extends KubeObject {
  spec?: Spec;
  status?: Status;
}

export type CoderControlPlane = CustomResource<ControlPlaneSpec, ControlPlaneStatus>;
export type CoderProvisioner = CustomResource<ProvisionerSpec, ProvisionerStatus>;
export type CoderWorkspaceProxy = CustomResource<WorkspaceProxySpec, WorkspaceProxyStatus>;

export const CoderControlPlane = kind<CoderControlPlane>(apiVersion, {
  kind: "CoderControlPlane",
  plural: "codercontrolplanes",
});
export const CoderProvisioner = kind<CoderProvisioner>(apiVersion, {
  kind: "CoderProvisioner",
  plural: "coderprovisioners",
});
export const CoderWorkspaceProxy = kind<CoderWorkspaceProxy>(apiVersion, {
  kind: "CoderWorkspaceProxy",
  plural: "coderworkspaceproxies",
});
