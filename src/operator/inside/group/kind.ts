import type { Stored } from "kube-controller-runtime";
import { insideDefaults } from "../../../api/v1alpha1/defaults.ts";
import { CoderGroup, CoderOrganization } from "../../../api/v1alpha1/kinds.ts";
import type { Group, GroupChange, Member } from "../../../coder/inside/groups.ts";
import { type Result, succeeded } from "../../../coder/result.ts";
import { defined, trimmed } from "../../normalize.ts";
import { collections, findOrganization, type Inside, MISSING_RETRY_MS, type Obstacle } from "../coderd.ts";
import type { EntityKind, Place, Resolved, Wanted } from "../kind.ts";
import { entityNameOf } from "../object.ts";
import { quotedNames } from "../quoted-names.ts";

/** Groups of coderd. */
export const groupKind: EntityKind<CoderGroup, Group> = {
  kind: CoderGroup,
  noun: "group",
  feature: "template_rbac",
  names: [CoderOrganization],
  fields: ["name", "displayName", "avatarURL", "quotaAllowance", "members"],
  organizationOf,
  locate: async (object, inside) => {
    const recorded = { id: object.status?.organizationID, name: organizationOf(object) };
    const organization = await findOrganization(recorded, inside);
    return organization.ok ? succeeded({ organization: organization.value }) : organization;
  },
  resolve,
  collection: ({ organization }) => collections.groups(organization?.id ?? ""),
  create: (client, { organization }, wanted) =>
    // Members are added with the next request: coderd takes none with this one.
    client.createGroup(organization?.id ?? "", valuesOf(wanted)),
  correct: async (client, group, { wanted, fields }) => {
    const [first, ...others] = inParts(changeOf(group, wanted, fields));
    let corrected = await client.setGroup(group.id, first);
    for (const part of others) if (corrected.ok) corrected = await client.setGroup(group.id, part);
    return corrected;
  },
  remove: (client, id) => client.deleteGroup(id),
};

function organizationOf({ spec }: Stored<CoderGroup>): string {
  return trimmed(spec?.organizationName) ?? insideDefaults.organizationName;
}

async function resolve(
  object: Stored<CoderGroup>,
  { organization }: Place,
  inside: Inside,
): Promise<Result<Resolved<Group>, Obstacle>> {
  const { id, name } = organization ?? { id: "", name: "" };
  const { displayName, avatarURL, quotaAllowance, members } = object.spec ?? {};
  const wanted = { name: entityNameOf(object), ...defined({ displayName, avatarURL, quotaAllowance }) };
  if (!members) return succeeded({ wanted });
  const sync = await inside.read(collections.groupSync(id));
  if (!sync.ok) return sync;
  if (sync.value.field !== "") return succeeded({ wanted, partly: managedByIdP(name) });
  const listed = await inside.read(collections.members(id));
  if (!listed.ok) return listed;
  const { ids, missing } = idsOf(members, listed.value);
  const partly = missing.length > 0 ? { partly: notMembers(missing, name) } : {};
  return succeeded({ wanted: { ...wanted, members: ids }, ...partly });
}

/** IDs for user names, which are not case-sensitive, and the names without a member of the organization. */
function idsOf(names: readonly string[], members: readonly Member[]) {
  const byName = new Map(members.map(({ id, username }) => [username.toLowerCase(), id]));
  const found = names.map((name) => ({ name, id: byName.get(name.toLowerCase()) }));
  const ids = new Set(found.flatMap(({ id }) => id ?? []));
  return { ids: [...ids].sort(), missing: found.flatMap(({ name, id }) => (id ? [] : name)) };
}

function managedByIdP(organization: string): Obstacle {
  const message = `Organization "${organization}" syncs the members of its groups from the identity provider; remove spec.members, or end the sync.`;
  return { reason: "ManagedByIdP", message, retryInMs: MISSING_RETRY_MS };
}

function notMembers(missing: readonly string[], organization: string): Obstacle {
  const message = `Not in the group, because they are not members of organization "${organization}": ${quotedNames(missing)}. Add them to the organization, or remove them from spec.members.`;
  return { reason: "MembersMissing", message, retryInMs: MISSING_RETRY_MS };
}

function valuesOf({ name, displayName, avatarURL, quotaAllowance }: Wanted<Group>) {
  return { name, ...defined({ displayName, avatarURL, quotaAllowance }) };
}

/** One person outside of the organization would make coderd refuse all of it: such are not among those wanted. */
function changeOf(group: Group, wanted: Wanted<Group>, fields: readonly string[]): GroupChange {
  const values = Object.entries(valuesOf(wanted)).filter(([field]) => fields.includes(field));
  const change: GroupChange = Object.fromEntries(values);
  if (!wanted.members || !fields.includes("members")) return change;
  const [has, wants] = [new Set(group.members), new Set(wanted.members)];
  const addUsers = wanted.members.filter((id) => !has.has(id));
  const removeUsers = group.members.filter((id) => !wants.has(id));
  return { ...change, addUsers, removeUsers };
}

/** coderd adds and removes members one by one, and has to answer in time. */
const MAX_USERS_PER_REQUEST = 500;

/** A change as several, of which the first has all but the other users. */
function inParts({
  addUsers = [],
  removeUsers = [],
  ...values
}: GroupChange): [GroupChange, ...GroupChange[]] {
  const partFrom = (start: number) => {
    const end = start + MAX_USERS_PER_REQUEST;
    return { addUsers: addUsers.slice(start, end), removeUsers: removeUsers.slice(start, end) };
  };
  const count = Math.ceil(Math.max(addUsers.length, removeUsers.length) / MAX_USERS_PER_REQUEST);
  const starts = Array.from({ length: count }, (_, index) => index * MAX_USERS_PER_REQUEST);
  const [first, ...others] = starts.map(partFrom);
  return [{ ...values, ...first }, ...others];
}
