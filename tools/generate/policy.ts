import { ENTITY_ID_ANNOTATION, ENTITY_OBJECTS } from "../../src/operator/inside/object.ts";
import { operatorName, operatorNamespace } from "./rbac.ts";

/*
 * A user who may write the operator's kinds makes the operator grant permissions for them. These policies let
 * the API server check that the user has the permissions that would be granted. They only check additions: a
 * change of a label, and an existing object, are allowed. Each policy may use 28 authorization checks in
 * total and fewer than three in one expression, so lists are checked one index at a time, up to a limit.
 */

/** Placeholder for the operator's namespace, replaced by the chart. */
const namespacePlaceholder = "OPERATOR_NAMESPACE";

const MAX_NAMESPACES = 20;

const protectedNamespaces = ["kube-system", "kube-public", "kube-node-lease", namespacePlaceholder];

interface Validation {
  readonly expression: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason: "Forbidden" | "Invalid";
}

interface Policy {
  /** Follows the name of the operator. */
  readonly suffix: string;
  readonly resources: readonly string[];
  readonly variables?: readonly { readonly name: string; readonly expression: string }[];
  readonly validations: readonly Validation[];
}

function checks(group: string, path: string, verb: string, namespace: string): string {
  const [resource, subresource] = path.split("/");
  const part = subresource ? `.subresource('${subresource}')` : "";
  return `authorizer.group('${group}').resource('${resource}')${part}.namespace(${namespace}).check('${verb}').allowed()`;
}

/** The message about a missing permission, as a CEL expression. */
function missing(subject: string, permission: string, namespace = "request.namespace"): string {
  return `'${subject}: user "' + request.userInfo.username + '" cannot ${permission} in namespace "' + ${namespace} + '"'`;
}

const rbacGroup = "rbac.authorization.k8s.io";

const sameSpec = {
  name: "isSame",
  expression: "oldObject != null && object.?spec.orValue({}) == oldObject.?spec.orValue({})",
} as const;

const pods: Policy = {
  suffix: "pods",
  resources: ["codercontrolplanes", "coderprovisioners", "coderworkspaceproxies"],
  variables: [sameSpec],
  validations: [
    {
      expression: `variables.isSame || ${checks("apps", "deployments", "create", "request.namespace")}`,
      messageExpression: missing("the operator runs pods for this object", "create deployments"),
      reason: "Forbidden",
    },
  ],
};

/** The annotation chooses an entity, as the spec does. */
const entityId = (object: string) => `${object}.metadata.?annotations[?'${ENTITY_ID_ANNOTATION}']`;

const sameEntity = {
  name: "isSame",
  expression: `${sameSpec.expression} && ${entityId("object")} == ${entityId("oldObject")}`,
} as const;

/** The operator acts inside coderd with an owner's token, which pods of the namespace can mount. */
const inside: Policy = {
  suffix: "inside",
  resources: ENTITY_OBJECTS.map(({ plural }) => plural),
  variables: [sameEntity],
  validations: [
    {
      expression: `variables.isSame || ${checks("", "pods", "create", "request.namespace")}`,
      messageExpression: missing(
        "the operator uses the token of an owner in coderd for this object",
        "create pods",
      ),
      reason: "Forbidden",
    },
  ],
};

/** Users who may scale the Deployment may set the number of pods, like the autoscalers of Kubernetes. */
const scale: Policy = {
  suffix: "scale",
  resources: ["coderprovisioners/scale", "coderworkspaceproxies/scale"],
  variables: [sameSpec],
  validations: [
    {
      expression: `variables.isSame || ${checks("apps", "deployments/scale", "update", "request.namespace")}`,
      messageExpression: missing(
        "the operator scales a Deployment for this object",
        "update deployments/scale",
      ),
      reason: "Forbidden",
    },
  ],
};

/** Exposing pods requires the permission to create the same object. */
const exposure: Policy = {
  suffix: "exposure",
  resources: ["codercontrolplanes", "coderworkspaceproxies"],
  validations: [
    // Labels of the object also apply to these.
    requiresPermission({ field: "expose.?ingress", shapedBy: "labels" }, "networking.k8s.io", "ingresses"),
    requiresPermission(
      { field: "expose.?gateway", shapedBy: "labels" },
      "gateway.networking.k8s.io",
      "httproutes",
    ),
  ],
};

interface GuardedField {
  /** A field of the spec, its parts joined by `.?`, that creates or changes an object of another kind. */
  readonly field: string;
  /** Another field that changes the object, once the first creates it. */
  readonly shapedBy?: string;
  /** A flag of the spec that disables the field. */
  readonly unless?: string;
}

function requiresPermission(
  { field, shapedBy, unless }: GuardedField,
  group: string,
  resource: string,
): Validation {
  const value = (object: string, name = field) => `${object}.?spec.?${name}`;
  const same = [field, shapedBy, unless].filter((name) => name !== undefined);
  const isSame = same.map((name) => `${value("oldObject", name)} == ${value("object", name)}`).join(" && ");
  const isOff = unless ? `${value("object", unless)}.orValue(false) || ` : "";
  return {
    expression: `!${value("object")}.hasValue() || ${isOff}(oldObject != null && ${isSame}) || ${checks(group, resource, "create", "request.namespace")}`,
    messageExpression: missing(`spec.${field.replaceAll("?", "")}`, `create ${resource}`),
    reason: "Forbidden",
  };
}

/**
 * Objects that the operator creates from the spec, of kinds that not every user with access to Deployments
 * may create.
 */
const children: Policy = {
  suffix: "children",
  resources: ["codercontrolplanes", "coderprovisioners", "coderworkspaceproxies"],
  validations: [
    requiresPermission(
      { field: "podDisruptionBudget", shapedBy: "labels" },
      "policy",
      "poddisruptionbudgets",
    ),
    // Clouds and vaults give a ServiceAccount an identity by annotations, labels and the name.
    requiresPermission({ field: "serviceAccount.?annotations" }, "", "serviceaccounts"),
    requiresPermission({ field: "serviceAccount.?labels" }, "", "serviceaccounts"),
    requiresPermission(
      { field: "serviceAccount.?name", unless: "serviceAccount.?disableCreate" },
      "",
      "serviceaccounts",
    ),
    requiresPermission({ field: "labels" }, "", "serviceaccounts"),
    requiresPermission({ field: "labels" }, "", "services"),
    requiresPermission({ field: "service.?annotations" }, "", "services"),
    requiresPermission({ field: "upgrade.?backup.?cronJobName" }, "batch", "jobs"),
    requiresPermission({ field: "upgrade.?backup.?cloudNativePG" }, "postgresql.cnpg.io", "backups"),
    // The operator writes it into coderd with an owner's token.
    requiresPermission({ field: "organizationSync" }, "", "pods"),
    reachableFromOutside(),
  ],
};

/** A Service that is reachable from outside the cluster. */
function reachableFromOutside(): Validation {
  const type = (object: string) => `${object}.?spec.?service.?type.orValue('ClusterIP')`;
  const service = (object: string) => `${object}.?spec.?service.orValue({})`;
  const isSame = `oldObject != null && ${service("object")} == ${service("oldObject")}`;
  return {
    expression: `${type("object")} == 'ClusterIP' || (${isSame}) || ${checks("", "services", "create", "request.namespace")}`,
    messageExpression: missing("spec.service.type", "create services"),
    reason: "Forbidden",
  };
}

/** The first admin is an owner of coderd, like the operator, whose token pods of the namespace can mount. */
const firstAdmin: Policy = {
  suffix: "first-admin",
  resources: ["codercontrolplanes"],
  validations: [requiresPermission({ field: "firstAdmin" }, "", "pods")],
};

const listed = (object: string) =>
  `${object}.?spec.?rbac.?workspaceNamespaces.orValue([]).map(name, name.trim()).filter(name, name != '' && name != request.namespace)`;
const flag = (object: string, name: string) => `${object}.?spec.?rbac.?${name}.orValue(true)`;

/** The grants in other namespaces, and which of these are new or extended. */
const grantVariables = [
  { name: "grants", expression: flag("object", "workspacePerms") },
  { name: "granted", expression: `oldObject != null && ${flag("oldObject", "workspacePerms")}` },
  {
    name: "grantsMore",
    expression: `variables.granted && ${flag("object", "enableDeployments")} && !${flag("oldObject", "enableDeployments")}`,
  },
  { name: "namespaces", expression: `variables.grants ? ${listed("object")} : []` },
  {
    name: "before",
    expression: `variables.granted && !variables.grantsMore ? ${listed("oldObject")} : []`,
  },
  { name: "added", expression: "variables.namespaces.filter(name, !(name in variables.before))" },
] as const;

const workspaceNamespaces: Policy = {
  suffix: "workspace-namespaces",
  resources: ["codercontrolplanes", "coderprovisioners"],
  variables: grantVariables,
  validations: [
    {
      expression: `variables.added.all(name, !(name in [${protectedNamespaces.map((name) => `'${name}'`).join(", ")}]))`,
      messageExpression:
        "'spec.rbac.workspaceNamespaces must not contain namespaces of Kubernetes or of the operator: ' + variables.added.join(', ')",
      reason: "Forbidden",
    },
    atMost(
      "added",
      MAX_NAMESPACES,
      `at most ${MAX_NAMESPACES} namespaces can be added to workspaceNamespaces at a time; add the others later`,
    ),
    ...indexes(MAX_NAMESPACES).map((index) => ({
      expression: `size(variables.added) <= ${index} || ${checks(rbacGroup, "rolebindings", "create", `variables.added[${index}]`)}`,
      messageExpression: missing(
        "spec.rbac.workspaceNamespaces",
        "create rolebindings",
        `variables.added[${index}]`,
      ),
      reason: "Forbidden" as const,
    })),
  ],
};

const extraRules: Policy = {
  suffix: "extra-rules",
  resources: ["codercontrolplanes", "coderprovisioners"],
  variables: [
    ...grantVariables,
    {
      name: "rules",
      expression: "variables.grants ? object.?spec.?rbac.?extraRules.orValue([]) : []",
    },
    {
      name: "rulesBefore",
      expression: "variables.granted ? oldObject.?spec.?rbac.?extraRules.orValue([]) : []",
    },
    {
      name: "reached",
      expression:
        "size(variables.rules) == 0 ? [] : variables.rules.all(rule, rule in variables.rulesBefore) ? variables.added : [request.namespace] + variables.namespaces",
    },
  ],
  validations: [
    atMost(
      "reached",
      MAX_NAMESPACES + 1,
      `extraRules can apply to at most ${MAX_NAMESPACES + 1} namespaces, including that of the object`,
    ),
    ...indexes(MAX_NAMESPACES + 1).map((index) => ({
      expression: `size(variables.reached) <= ${index} || ${checks(rbacGroup, "roles", "escalate", `variables.reached[${index}]`)}`,
      messageExpression: missing("spec.rbac.extraRules", "escalate roles", `variables.reached[${index}]`),
      reason: "Forbidden" as const,
    })),
  ],
};

function atMost(list: string, limit: number, message: string): Validation {
  return {
    expression: `size(variables.${list}) <= ${limit}`,
    message: `spec.rbac: ${message}`,
    reason: "Invalid",
  };
}

function indexes(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

const admissionVersion = "admissionregistration.k8s.io/v1";

function objectsOf({ suffix, resources, variables, validations }: Policy, prefix: string): object[] {
  const name = `${prefix}-${suffix}`;
  const rule = { apiGroups: ["coder.com"], apiVersions: ["*"], operations: ["CREATE", "UPDATE"], resources };
  const policy = {
    apiVersion: admissionVersion,
    kind: "ValidatingAdmissionPolicy",
    metadata: { name },
    spec: {
      failurePolicy: "Fail",
      matchConstraints: { resourceRules: [rule] },
      ...(variables && { variables }),
      validations,
    },
  };
  const binding = {
    apiVersion: admissionVersion,
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name },
    spec: { policyName: name, validationActions: ["Deny"] },
  };
  return [policy, binding];
}

const policies = [pods, inside, firstAdmin, scale, exposure, children, workspaceNamespaces, extraRules];

/** The policies and their bindings as plain manifests. */
export function admissionPolicies(): object[] {
  const objects = policies.flatMap((policy) => objectsOf(policy, operatorName));
  return JSON.parse(JSON.stringify(objects).replaceAll(namespacePlaceholder, operatorNamespace));
}

/** The specs of the chart's policies, by suffix: names and the operator's namespace come from the release. */
export function chartPolicies(): Record<string, object> {
  const specs = policies.map((policy) => {
    const [{ spec }] = objectsOf(policy, "") as [{ spec: object }];
    return [policy.suffix, spec];
  });
  return Object.fromEntries(specs);
}
