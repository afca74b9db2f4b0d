import { Type } from "typebox";
import { rbacDefaults } from "./defaults.ts";
import { childName, listedNamespace } from "./names.ts";
import { atomic, flag, list, object, optional, rules, type Static, stringMap } from "./schema.ts";

const extraRule = object(
  "One more permission, as in a Role.",
  {
    apiGroups: optional(
      list("API groups of the resources; the empty string is the core group.", Type.String(), atomic),
    ),
    nonResourceURLs: optional(
      list("Not possible in a Role; kept so that the field is refused by name.", Type.String(), atomic),
    ),
    resourceNames: optional(list("Only objects of these names; absent means all.", Type.String(), atomic)),
    resources: optional(list("Resources that the verbs apply to, such as pods/exec.", Type.String())),
    verbs: list("What may be done, such as get, list and watch.", Type.String(), { ...atomic, minItems: 1 }),
  },
  rules(
    {
      rule: "!has(self.nonResourceURLs) || size(self.nonResourceURLs) == 0",
      message: "a Role in a namespace cannot grant nonResourceURLs: leave them out",
      fieldPath: ".nonResourceURLs",
    },
    {
      rule: "has(self.apiGroups) && size(self.apiGroups) > 0",
      message: 'name at least one API group; write [""] for the core group',
      fieldPath: ".apiGroups",
    },
    {
      rule: "has(self.resources) && size(self.resources) > 0",
      message: "name at least one resource",
      fieldPath: ".resources",
    },
  ),
);

/** Permissions of coderd, or of provisioner daemons, in Kubernetes. */
export function rbac(options: { default?: object } = {}) {
  return object(
    "Permissions to run workspaces.",
    {
      enableDeployments: optional(
        flag("Whether workspaces may be Deployments, not only pods.", {
          default: rbacDefaults.enableDeployments,
        }),
      ),
      extraRules: optional(
        list(
          "Permissions added to the Role. The operator must hold them itself to be allowed to grant them.",
          extraRule,
        ),
      ),
      workspaceNamespaces: optional(
        list("Further namespaces in which workspaces run.", listedNamespace("Name of a namespace.")),
      ),
      workspacePerms: optional(
        flag("Whether the operator makes a Role and a RoleBinding for workspaces at all.", {
          default: rbacDefaults.workspacePerms,
        }),
      ),
    },
    options,
  );
}
export type RbacSpec = Static<ReturnType<typeof rbac>>;

export function serviceAccount(options: { default?: object } = {}) {
  return object(
    "The ServiceAccount of the pods.",
    {
      annotations: optional(
        stringMap("Annotations of the ServiceAccount, for example for a cloud identity."),
      ),
      disableCreate: optional(
        flag("Use a ServiceAccount that exists already and leave it as it is.", { default: false }),
      ),
      labels: optional(stringMap("Labels of the ServiceAccount.")),
      name: optional(
        childName(
          "Name of the ServiceAccount; absent means the name of this object, for a provisioner with `-provisioner`.",
        ),
      ),
    },
    options,
  );
}
export type ServiceAccountSpec = Static<ReturnType<typeof serviceAccount>>;

/** Where permissions are, for the status. */
export const workspaceNamespaces = list(
  "Other namespaces in which workspaces may run by permissions of the operator.",
  Type.String(),
  atomic,
);
