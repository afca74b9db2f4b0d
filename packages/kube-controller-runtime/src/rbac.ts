/** A verb of a role. */
export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection";

/**
 * A permission that some code needs, declared next to that code. The roles under config/rbac are generated
 * from all of these, so they contain only declared permissions.
 */
export interface PolicyRule {
  /**
   * As returned by `resourceName`, with a subresource if needed: `pods`, `deployments.apps`,
   * `leases.coordination.k8s.io`.
   */
  readonly resources: readonly string[];
  readonly verbs: readonly Verb[];
  /**
   * Cluster-scoped resources: a Role can't grant access to them, so a process with only Roles works without.
   */
  readonly clusterScoped?: boolean;
  /** For the user who reviews the role. */
  readonly because: string;
}
