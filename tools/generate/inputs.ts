import type { PolicyRule } from "kube-controller-runtime";
import {
  controlPlaneDefinition,
  provisionerDefinition,
  workspaceProxyDefinition,
} from "../../src/api/v1alpha1/definitions.ts";
import type { ResourceDefinition } from "../../src/api/v1alpha1/schema.ts";
import { rules as controlPlaneRules } from "../../src/operator/control-plane/rbac.ts";
import { rules as sharedRules } from "../../src/operator/permissions/rbac.ts";
import { rules as provisionerRules } from "../../src/operator/provisioner/rbac.ts";
import { rules as queueRules } from "../../src/operator/queue/rbac.ts";
import { rules as workspaceProxyRules } from "../../src/operator/workspace-proxy/rbac.ts";

/** The kinds of the API, in the order of the documentation. */
export const resources: readonly ResourceDefinition[] = [
  controlPlaneDefinition,
  provisionerDefinition,
  workspaceProxyDefinition,
];

/** Every permission that some part of the operator declares. */
export const permissions: readonly PolicyRule[] = [
  ...sharedRules,
  ...controlPlaneRules,
  ...provisionerRules,
  ...workspaceProxyRules,
  ...queueRules,
];
