import { Type } from "typebox";
import { rbacDefaults } from "./defaults.ts";
import { childName, listedNamespace } from "./names.ts";
import { atomic, flag, list, object, optional, rules, type Static, stringMap } from "./schema.ts";

const extraRule = object(
  "A policy rule, as in a Role.",
  {
    apiGroups: optional(
      list("API groups of the resources. The empty string is the core group.", Type.String(), atomic),
    ),
    nonResourceURLs: optional(
      list(
        "Not allowed in a Role. The field exists so that validation can reject it with a clear message.",
        Type.String(),
        atomic,
      ),
    ),
    resourceNames: optional(
      list("Names of the objects that the rule applies to. Defaults to all objects.", Type.String(), atomic),
    ),
    resources: optional(list("Resources that the rule applies to, such as pods/exec.", Type.String())),
    verbs: list("Verbs that the rule allows, such as get, list and watch.", Type.String(), {
      ...atomic,
      minItems: 1,
    }),
  },
  rules(
    {
      rule: "!has(self.nonResourceURLs) || size(self.nonResourceURLs) == 0",
      message: "nonResourceURLs are not allowed in a Role",
      fieldPath: ".nonResourceURLs",
    },
    {
      rule: "has(self.apiGroups) && size(self.apiGroups) > 0",
      message: 'must contain at least one API group; use [""] for the core group',
      fieldPath: ".apiGroups",
    },
    {
      rule: "has(self.resources) && size(self.resources) > 0",
      message: "must contain at least one resource",
      fieldPath: ".resources",
    },
  ),
);

/** Kubernetes permissions of coderd or of provisioner daemons. */
export function rbac(options: { default?: object } = {}) {
  return object(
    "Permissions that workspaces need in Kubernetes.",
    {
      enableDeployments: optional(
        flag("Allows workspaces to run as Deployments in addition to pods.", {
          default: rbacDefaults.enableDeployments,
        }),
      ),
      extraRules: optional(
        list(
          "Additional rules for the Role. The operator can only grant permissions that it has itself.",
          extraRule,
        ),
      ),
      workspaceNamespaces: optional(
        list("Additional namespaces in which workspaces may run.", listedNamespace("Name of the namespace.")),
      ),
      workspacePerms: optional(
        flag("Creates a Role and a RoleBinding for workspaces.", {
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
    "ServiceAccount that the pods use.",
    {
      annotations: optional(
        stringMap("Annotations of the ServiceAccount, for example to bind a cloud identity."),
      ),
      disableCreate: optional(
        flag("Uses an existing ServiceAccount and does not change it.", { default: false }),
      ),
      labels: optional(stringMap("Labels of the ServiceAccount.")),
      name: optional(
        childName(
          "Name of the ServiceAccount. Defaults to the name of the object, followed by `-provisioner` for a provisioner.",
        ),
      ),
    },
    options,
  );
}
export type ServiceAccountSpec = Static<ReturnType<typeof serviceAccount>>;

/** Status only: namespaces with permissions to clean up. */
export const workspaceNamespaces = list(
  "Additional namespaces in which the operator granted permissions to run workspaces.",
  Type.String(),
  atomic,
);
