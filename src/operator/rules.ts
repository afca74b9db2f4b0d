import type { PolicyRule } from "kube-controller-runtime";
import { rules as queueRules } from "./autoscaling/rbac.ts";
import { rules as controlPlaneRules } from "./control-plane/rbac.ts";
import { rules as insideRules } from "./inside/rbac.ts";
import { rules as provisionerRules } from "./provisioner/rbac.ts";
import { rules as sharedRules } from "./workload/rbac/rules.ts";
import { rules as workspaceProxyRules } from "./workspace-proxy/rbac.ts";

/** All permissions that parts of the operator declare. */
export const permissions: readonly PolicyRule[] = [
  ...sharedRules,
  ...controlPlaneRules,
  ...provisionerRules,
  ...workspaceProxyRules,
  ...queueRules,
  ...insideRules,
];
