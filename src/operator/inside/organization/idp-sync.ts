import type { GroupSyncSpec, RoleSyncSpec } from "../../../api/v1alpha1/organization.ts";
import { collections, type Inside } from "../coderd.ts";
import type { Setting } from "../kind.ts";
import { signOnSetting } from "../sign-on.ts";

/** The groups that people of an organization get at a sign-on. */
export function groupSync(
  { field, regexFilter, autoCreate, mapping }: GroupSyncSpec,
  id: string,
  inside: Inside,
): Setting {
  return signOnSetting(
    {
      field: "idpSync.groups",
      feature: "template_rbac",
      collection: collections.groupSync(id),
      wanted: { field, regexFilter, autoCreate },
      mapping,
      names: {
        noun: "group",
        missing: "GroupsMissing",
        collection: collections.groups(id),
        target: (group) => group.id,
      },
      write: (sync) => inside.client.setGroupSync(id, sync),
    },
    inside,
  );
}

/** The roles that people of an organization get at a sign-on. */
export function roleSync({ field, mapping }: RoleSyncSpec, id: string, inside: Inside): Setting {
  return signOnSetting(
    {
      field: "idpSync.roles",
      feature: "user_role_management",
      collection: collections.roleSync(id),
      wanted: { field },
      mapping,
      names: {
        noun: "role",
        missing: "RolesMissing",
        collection: collections.roles(id),
        target: (role) => role.name,
      },
      write: (sync) => inside.client.setRoleSync(id, sync),
    },
    inside,
  );
}
