/** What a role can allow to do with a resource. */
export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection";

/**
 * A permission that some code needs, declared next to that code. The roles under config/rbac are generated
 * from all of these together, so a permission that nobody declares is one that nobody has.
 */
export interface PolicyRule {
  /** As `resourceName` spells them, with a subresource where needed: `pods`, `deployments.apps`, `leases.coordination.k8s.io`. */
  readonly resources: readonly string[];
  readonly verbs: readonly Verb[];
  /** The resources belong to no namespace: a Role can't grant them, and whoever has only Roles does without. */
  readonly clusterScoped?: boolean;
  /** For the person who reviews the role. */
  readonly because: string;
}
