import type { CoderdDeployment } from "./deployment.ts";
import type { SimulatedGroup } from "./inside.ts";
import { json, message, notFound, type Reply, rbacForbidden, required } from "./reply.ts";
import type { Call, Route } from "./route.ts";

const GROUPS = "/api/v2/organizations/:organization/groups";
const NAME = /^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$/;
const MAX_NAME_LENGTH = 255;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const licensed = { feature: "template_rbac", title: "Template RBAC" };

export const groupRoutes: readonly Route[] = [
  { method: "GET", path: GROUPS, licensed, handle: listGroups },
  { method: "POST", path: GROUPS, licensed, handle: createGroup },
  { method: "PATCH", path: "/api/v2/groups/:group", licensed, handle: patchGroup },
  { method: "DELETE", path: "/api/v2/groups/:group", licensed, handle: deleteGroup },
];

/** People without rights see only themselves among the members, and in some versions only their own groups. */
function listGroups({ deployment, params, account }: Call): Reply {
  const organization = deployment.findOrganization(params.organization ?? "");
  if (!organization) return notFound;
  const groups = deployment.inside.groups.filter((group) => group.organization === organization.id);
  const views = groups.map((group) => groupView(group, deployment));
  if (account.owner) return json(200, views);
  const own = views.map((view) => ({ ...view, members: view.members.filter(({ id }) => id === account.id) }));
  const { hasOpenMembership } = deployment.traits;
  return json(
    200,
    own.filter(({ members }) => hasOpenMembership || members.length > 0),
  );
}

function createGroup({ deployment, params, body, account }: Call): Reply {
  const organization = deployment.findOrganization(params.organization ?? "");
  if (!organization) return notFound;
  if (!account.owner) return rbacForbidden;
  const name = `${body.name ?? ""}`;
  const refusal = nameRefusal(name) ?? reserved(name) ?? taken(deployment, organization.id, name);
  if (refusal) return refusal;
  const group = deployment.inside.addGroup(organization.id, name, {
    displayName: `${body.display_name ?? ""}`,
    avatarURL: `${body.avatar_url ?? ""}`,
    quota: Number(body.quota_allowance ?? 0),
  });
  return json(201, groupView(group, deployment));
}

function nameRefusal(name: string): Reply | undefined {
  if (name === "") return required("name");
  const isValid = NAME.test(name) && name.length <= MAX_NAME_LENGTH && name !== "new" && name !== "create";
  if (isValid) return undefined;
  const detail = `Validation failed for tag "group_name" with value: "${name}"`;
  return json(400, { message: "Validation failed.", validations: [{ field: "name", detail }] });
}

function reserved(name: string): Reply | undefined {
  if (name !== "Everyone") return undefined;
  const detail = `"${name}" is a reserved group name`;
  return json(400, { message: "Invalid group name.", validations: [{ field: "name", detail }] });
}

function taken({ inside }: CoderdDeployment, organization: string, name: string): Reply | undefined {
  const isTaken = inside.groups.some((group) => group.organization === organization && group.name === name);
  if (!isTaken) return undefined;
  return json(409, {
    message: `A group named "${name}" already exists.`,
    validations: [{ field: "name", detail: "Group names must be unique" }],
  });
}

function patchGroup({ deployment, params, body, account }: Call): Reply {
  const group = deployment.inside.groups.find(({ id }) => id === params.group);
  if (!group) return notFound;
  if (!account.owner)
    return message(
      400,
      "Failed to add or remove non-existent group member",
      "execute transaction: update group by ID: unauthorized: rbac: forbidden",
    );
  const name = body.name === undefined || body.name === group.name ? "" : `${body.name}`;
  const refusal = name === "" ? undefined : nameRefusal(name);
  if (refusal) return refusal;
  const isEveryone = group.id === group.organization;
  if (isEveryone && name !== "") return message(400, 'Cannot rename the "Everyone" group!');
  if (name === "Everyone") return message(400, '"Everyone" is a reserved group name!');
  const [add, remove] = [idsIn(body.add_users), idsIn(body.remove_users)];
  if (isEveryone && add.length + remove.length > 0)
    return message(403, 'Cannot add or remove users from the "Everyone" group!');
  const unreadable = [...add, ...remove].find((id) => !UUID.test(id));
  if (unreadable !== undefined) return message(400, `ID "${unreadable}" must be a valid user UUID.`);
  if ([...add, ...remove].some((id) => !deployment.inside.isMember(group.organization, id)))
    return message(400, `User must be a member of organization "${group.name}"`);
  const isNameTaken = name !== "" && taken(deployment, group.organization, name) !== undefined;
  if (isNameTaken) return message(409, `A group with name "${name}" already exists.`);
  const twice = add.find((id) => group.members.includes(id));
  if (twice !== undefined)
    return message(
      400,
      "Cannot add the same user to a group twice!",
      `execute transaction: insert group member "${twice}": pq: duplicate key value violates unique constraint "group_members_user_id_group_id_key"`,
    );
  if (name !== "") group.name = name;
  if (body.display_name !== undefined) group.displayName = `${body.display_name}`;
  if (body.avatar_url !== undefined) group.avatarURL = `${body.avatar_url}`;
  if (body.quota_allowance !== undefined) group.quota = Number(body.quota_allowance);
  const kept = group.members.filter((id) => !remove.includes(id));
  group.members = [...kept, ...add];
  return json(200, groupView(group, deployment));
}

function idsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function deleteGroup({ deployment, params, account }: Call): Reply {
  const { inside } = deployment;
  const group = inside.groups.find(({ id }) => id === params.group);
  if (!group || !account.owner) return notFound;
  if (group.id === group.organization)
    return message(400, '"Everyone" is a reserved group and cannot be deleted!');
  inside.groups = inside.groups.filter(({ id }) => id !== group.id);
  return message(200, "Successfully deleted group!");
}

/** coderd lists everything about every member. */
function groupView(group: SimulatedGroup, deployment: CoderdDeployment) {
  const { inside, timestamp } = deployment;
  const organization = deployment.organizations.find(({ id }) => id === group.organization);
  const isIn = new Set(group.members);
  const isEveryone = group.id === group.organization;
  const people = isEveryone
    ? inside.membersOf(group.organization)
    : inside.people.filter(({ id }) => isIn.has(id));
  const members = people.map(({ id, username, name, email }) => ({
    id,
    username,
    name,
    email,
    created_at: timestamp,
    updated_at: timestamp,
    last_seen_at: timestamp,
    status: "active",
    login_type: "password",
  }));
  return {
    id: group.id,
    name: group.name,
    display_name: group.displayName,
    organization_id: group.organization,
    members,
    total_member_count: members.length,
    avatar_url: group.avatarURL,
    quota_allowance: group.quota,
    source: "user",
    organization_name: organization?.name,
    organization_display_name: organization?.display_name,
  };
}
