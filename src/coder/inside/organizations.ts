import { boolean, type Decoded, type Decoder, list, object, optional, string, word } from "../decode.ts";

/** An organization with all that can be set of it. */
export const organizationEntity = object((field) => ({
  id: field("id", word),
  name: field("name", string),
  displayName: field("display_name", string),
  description: field("description", string),
  icon: field("icon", string),
  isDefault: field("is_default", boolean),
}));
export type OrganizationEntity = Decoded<typeof organizationEntity>;

export const organizationEntities = list(organizationEntity);

/** What is set of an organization; what is absent stays as it is. */
export interface OrganizationChange {
  readonly name?: string;
  readonly displayName?: string;
  readonly description?: string;
  readonly icon?: string;
}

export function organizationBody({ name, displayName, description, icon }: OrganizationChange) {
  return { name, display_name: displayName, description, icon };
}

const permission = object((field) => ({
  resourceType: field("resource_type", word),
  action: field("action", word),
  negate: field("negate", boolean),
}));

/** A role that members of an organization can have. */
const organizationRole = object((field) => ({
  name: field("name", string),
  displayName: field("display_name", string),
  permissions: field("organization_permissions", optional(list(permission))) ?? [],
  isBuiltIn: field("built_in", boolean),
}));
export type OrganizationRole = Decoded<typeof organizationRole>;

export const organizationRoles: Decoder<readonly OrganizationRole[]> = list(organizationRole);

/** A custom role as it is created or replaced. */
export type CustomRole = Omit<OrganizationRole, "isBuiltIn">;

export function roleBody({ name, displayName, permissions }: CustomRole) {
  return {
    name,
    display_name: displayName,
    organization_permissions: permissions.map(({ resourceType, action, negate }) => ({
      resource_type: resourceType,
      action,
      negate,
    })),
    site_permissions: [],
    user_permissions: [],
  };
}
