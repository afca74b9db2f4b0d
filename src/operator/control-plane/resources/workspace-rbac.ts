import { fnv1a32, type ObjectMeta, type Role, type RoleBinding } from "kube-controller-runtime";
import {
  commonLabels,
  type Identity,
  labelValue,
  nameLength,
  ownershipMarks,
  shortName,
} from "../../names.ts";
import { role, roleBinding, workspaceRules } from "../../permissions/workspace-role.ts";
import type { ControlPlane, WorkspaceAccess } from "../spec.ts";

/** What coderd gets in one namespace. Only objects of its own namespace can carry an owner reference. */
export interface WorkspaceGrant {
  readonly namespace: string;
  readonly foreign: boolean;
  readonly role: Role;
  readonly roleBinding: RoleBinding;
}

/** One grant for each namespace in which workspaces run; what else bears our labels must not exist. */
export function workspaceGrants(controlPlane: ControlPlane): WorkspaceGrant[] {
  const { workspaceAccess } = controlPlane;
  if (!workspaceAccess) return [];
  return workspaceAccess.namespaces.map((namespace) => grant(controlPlane, workspaceAccess, namespace));
}

function grant(controlPlane: ControlPlane, access: WorkspaceAccess, namespace: string): WorkspaceGrant {
  const { identity, serviceAccount } = controlPlane;
  const names = grantNames(identity, serviceAccount.name);
  const rules = [...workspaceRules(access), ...access.extraRules];
  const account = { name: serviceAccount.name, namespace: identity.namespace };
  return {
    namespace,
    foreign: namespace !== identity.namespace,
    role: role(metadataIn(namespace, controlPlane, names.role), rules),
    roleBinding: roleBinding(metadataIn(namespace, controlPlane, names.roleBinding), names.role, account),
  };
}

/** Control planes of several namespaces may share a workspace namespace, so the names carry whose they are. */
function grantNames({ namespace, name }: Identity, serviceAccount: string) {
  const owner = `-${fnv1a32(`${namespace}\0${name}`)}`;
  return {
    role: shortName(serviceAccount, { suffix: `${owner}-workspace-perms`, max: nameLength }),
    roleBinding: shortName(serviceAccount, { suffix: owner, max: nameLength }),
  };
}

function metadataIn(namespace: string, controlPlane: ControlPlane, name: string): ObjectMeta {
  const { identity } = controlPlane;
  return {
    name,
    namespace,
    labels: { ...controlPlane.labels, ...commonLabels(controlPlane), ...workspaceGrantLabels(identity) },
    annotations: { [ownershipMarks.ownerUid]: identity.uid },
  };
}

/** The labels by which the grants of a control plane are found in all namespaces. */
export function workspaceGrantLabels({
  name,
  namespace,
}: Pick<Identity, "name" | "namespace">): Record<string, string> {
  return {
    "coder.com/control-plane": labelValue(name),
    "coder.com/control-plane-namespace": namespace,
  };
}
