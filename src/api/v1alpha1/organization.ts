import { specRequired } from "./common.ts";
import {
  displayName,
  entityColumns,
  entityFields,
  entityName,
  entityStatusFields,
  immutableControlPlane,
  nameFits,
  specNeeded,
} from "./inside.ts";
import { maxGroupNameLength, maxUsernameLength } from "./limits.ts";
import {
  flag,
  type KindDescription,
  list,
  listMap,
  object,
  optional,
  rules,
  type Static,
  text,
} from "./schema.ts";
import { claim, mapping } from "./sign-on.ts";

const permission = object("Actions on one type of resource.", {
  actions: list(
    "Actions, such as read, create, update and delete.",
    text("Action.", { minLength: 1, maxLength: 64 }),
    { minItems: 1, "x-kubernetes-list-type": "set" },
  ),
  resourceType: text("Type of resource, such as workspace or template.", { minLength: 1, maxLength: 64 }),
});

const customRole = object("Role that members of the organization can have.", {
  displayName: optional(displayName),
  name: entityName("Name of the role.", maxUsernameLength),
  permissions: optional(
    list("Permissions of the role within the organization.", permission, listMap("resourceType")),
  ),
});

const groupSync = object("Sync of groups. Settings that are not set are not managed.", {
  autoCreate: optional(flag("Creates groups that the claim names and coderd does not have.")),
  field: claim("groups"),
  mapping: optional(
    mapping("Values of the claim, each with the names of groups of the organization.", maxGroupNameLength),
  ),
  regexFilter: optional(
    text("Regular expression. Values of the claim that it does not match are ignored.", { maxLength: 1_024 }),
  ),
});

const roleSync = object("Sync of roles. Settings that are not set are not managed.", {
  field: claim("roles"),
  mapping: optional(
    mapping("Values of the claim, each with the names of roles of the organization.", maxUsernameLength),
  ),
});

const organizationSpec = object(
  "Desired state of the organization. Fields that are not set are not managed.",
  {
    ...entityFields,
    customRoles: optional(
      list(
        "All custom roles of the organization. The operator deletes custom roles that are not listed.",
        customRole,
        { ...listMap("name"), maxItems: 64 },
      ),
    ),
    description: optional(text("Description in the dashboard.", { maxLength: 4_096 })),
    displayName: optional({ ...displayName, minLength: 1 }),
    icon: optional(text("Path or URL of the icon in the dashboard.", { maxLength: 2_048 })),
    idpSync: optional(
      object(
        "What coderd does in this organization with the claims of the identity provider at each sign-on.",
        {
          groups: optional(groupSync),
          roles: optional(roleSync),
        },
      ),
    ),
    name: optional(
      entityName(
        "Name of the organization in coderd. Defaults to the name of the object.",
        maxUsernameLength,
      ),
    ),
  },
  rules(
    immutableControlPlane,
    {
      rule: "!has(self.name) || self.name.lowerAscii() != 'default'",
      message:
        "must not be default, which is only an alias; use the name of the default organization, which is coder unless it was renamed",
      fieldPath: ".name",
    },
    {
      rule: "!has(self.customRoles) || self.customRoles.all(role, self.customRoles.exists_one(other, other.name.lowerAscii() == role.name.lowerAscii()))",
      message: "must not have names that differ by case alone, because coderd stores them in lower case",
      fieldPath: ".customRoles",
    },
  ),
);

const organizationStatus = object("Most recently observed state of the organization.", entityStatusFields);

export type OrganizationSpec = Static<typeof organizationSpec>;
export type OrganizationStatus = Static<typeof organizationStatus>;
export type CustomRoleSpec = Static<typeof customRole>;
export type GroupSyncSpec = Static<typeof groupSync>;
export type RoleSyncSpec = Static<typeof roleSync>;

export const organization: KindDescription = {
  shortName: "corg",
  description:
    "CoderOrganization describes an organization in coderd: its custom roles, and the groups and roles that people get from the identity provider.",
  spec: organizationSpec,
  status: organizationStatus,
  rules: [
    specRequired(specNeeded),
    ...nameFits(maxUsernameLength),
    {
      rule: "has(self.spec.name) || self.metadata.name != 'default'",
      message: "must not be default, which is only an alias, unless spec.name is set",
      fieldPath: ".metadata.name",
    },
  ],
  columns: entityColumns,
};
