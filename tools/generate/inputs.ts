import {
  controlPlaneDefinition,
  groupDefinition,
  organizationDefinition,
  provisionerDefinition,
  workspaceProxyDefinition,
} from "../../src/api/v1alpha1/definitions.ts";
import type { ResourceDefinition } from "../../src/api/v1alpha1/schema.ts";

/** The kinds of the API, in the order of the documentation. */
export const resources: readonly ResourceDefinition[] = [
  controlPlaneDefinition,
  provisionerDefinition,
  workspaceProxyDefinition,
  organizationDefinition,
  groupDefinition,
];

export { permissions } from "../../src/operator/rules.ts";
