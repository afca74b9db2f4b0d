import { controlPlaneDefinition } from "../../src/api/v1alpha1/control-plane.ts";
import { provisionerDefinition } from "../../src/api/v1alpha1/provisioner.ts";
import type { ResourceDefinition } from "../../src/api/v1alpha1/schema.ts";
import { workspaceProxyDefinition } from "../../src/api/v1alpha1/workspace-proxy.ts";

export const resources: readonly ResourceDefinition[] = [
  controlPlaneDefinition,
  provisionerDefinition,
  workspaceProxyDefinition,
];
