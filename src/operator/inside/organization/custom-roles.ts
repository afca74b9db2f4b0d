import { isDeepStrictEqual } from "node:util";
import type { CustomRoleSpec } from "../../../api/v1alpha1/organization.ts";
import type { CustomRole } from "../../../coder/inside/organizations.ts";
import { succeeded } from "../../../coder/result.ts";
import { collections, type Inside } from "../coderd.ts";
import type { Change, Comparison, Setting } from "../kind.ts";

/** All custom roles of an organization: those of the spec and no others. */
export function customRoles(roles: readonly CustomRoleSpec[], id: string, inside: Inside): Setting {
  const wanted = roles.map(roleOf);
  return {
    field: "customRoles",
    feature: "custom_roles",
    compare: async (maxAgeMs) => {
      const listed = await inside.read(collections.roles(id), maxAgeMs);
      if (!listed.ok) return listed;
      const present = listed.value.filter(({ isBuiltIn }) => !isBuiltIn).map(comparable);
      return succeeded(compare(wanted, present, id, inside));
    },
  };
}

function compare(
  wanted: readonly CustomRole[],
  present: readonly CustomRole[],
  id: string,
  { client }: Inside,
): Comparison {
  const changes: Change[] = [];
  for (const role of wanted) {
    const known = present.find(({ name }) => name === role.name);
    if (!known) changes.push(() => client.createRole(id, role));
    else if (!isDeepStrictEqual(known, role)) changes.push(() => client.setRole(id, role));
  }
  for (const { name } of present)
    if (!wanted.some((role) => role.name === name)) changes.push(() => client.deleteRole(id, name));
  return changes.length > 0 ? { change: () => inTurn(changes) } : {};
}

async function inTurn(changes: readonly Change[]): ReturnType<Change> {
  for (const change of changes) {
    const made = await change();
    if (!made.ok) return made;
  }
  return succeeded(undefined);
}

/** coderd stores names in lower case. */
function roleOf({ name, displayName = "", permissions = [] }: CustomRoleSpec): CustomRole {
  const each = permissions.flatMap(({ resourceType, actions }) =>
    actions.map((action) => ({ resourceType, action, negate: false })),
  );
  return comparable({ name: name.toLowerCase(), displayName, permissions: each });
}

/** coderd gives no order to permissions. */
function comparable({ name, displayName, permissions }: CustomRole): CustomRole {
  const sortKey = ({ resourceType, action }: CustomRole["permissions"][number]) =>
    `${resourceType} ${action}`;
  return {
    name,
    displayName,
    permissions: permissions.toSorted((one, other) => (sortKey(one) < sortKey(other) ? -1 : 1)),
  };
}
