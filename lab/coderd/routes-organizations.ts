import type { CoderdDeployment, Organization } from "./deployment.ts";
import type { Person, SimulatedRole } from "./inside.ts";
import { json, message, notFound, type Reply, required } from "./reply.ts";
import type { Call, Route } from "./route.ts";
import type { Traits } from "./traits.ts";

const ORGANIZATION = "/api/v2/organizations/:organization";
const ROLES = `${ORGANIZATION}/members/roles`;
const licensed = { feature: "multiple_organizations", title: "Multiple Organizations" };
const withRoles = { feature: "custom_roles", title: "Custom Roles" };
const NAME = /^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$/;
const MAX_NAME_LENGTH = 32;

export const organizationRoutes: readonly Route[] = [
  { method: "POST", path: "/api/v2/organizations", licensed, handle: createOrganization },
  { method: "PATCH", path: ORGANIZATION, licensed, handle: within(patchOrganization) },
  { method: "DELETE", path: ORGANIZATION, licensed, handle: deleteOrganization },
  { method: "GET", path: `${ORGANIZATION}/members`, handle: listMembers },
  { method: "GET", path: ROLES, handle: within(listRoles) },
  { method: "POST", path: ROLES, licensed: withRoles, handle: within(createRole) },
  { method: "PUT", path: ROLES, licensed: withRoles, handle: within(putRole) },
  { method: "DELETE", path: `${ROLES}/:role`, licensed: withRoles, handle: within(deleteRole) },
];

export function organizationView(organization: Organization, { traits }: CoderdDeployment) {
  return { ...organization, ...traits.more.organization };
}

function within(handle: (organization: Organization, call: Call) => Reply): (call: Call) => Reply {
  return (call) => {
    const organization = call.deployment.findOrganization(call.params.organization ?? "");
    return organization && call.account.owner ? handle(organization, call) : notFound;
  };
}

function createOrganization({ deployment, body, account }: Call): Reply {
  const name = `${body.name ?? ""}`;
  const refusal = nameRefusal(name);
  if (refusal) return refusal;
  if (!account.owner)
    return message(
      500,
      "Internal error inserting organization member.",
      "execute transaction: create organization: unauthorized: rbac: forbidden",
    );
  if (isTaken(name, deployment)) return message(409, "Organization already exists with that name.");
  const organization = deployment.addOrganization(name, {
    display_name: `${body.display_name || name}`,
    description: `${body.description ?? ""}`,
    icon: `${body.icon ?? ""}`,
  });
  deployment.inside.enroll(organization.id, account);
  return json(201, organizationView(organization, deployment));
}

function nameRefusal(name: string): Reply | undefined {
  if (name === "") return required("name");
  if (name === "default") return message(400, 'Organization name "default" is reserved.');
  const isValid = NAME.test(name) && name.length <= MAX_NAME_LENGTH && name !== "new" && name !== "create";
  if (isValid) return undefined;
  const detail = `Validation failed for tag "organization_name" with value: "${name}"`;
  return json(400, { message: "Validation failed.", validations: [{ field: "name", detail }] });
}

function isTaken(name: string, { organizations }: CoderdDeployment): boolean {
  return organizations.some((each) => each.name.toLowerCase() === name.toLowerCase());
}

function patchOrganization(organization: Organization, { deployment, body }: Call): Reply {
  const name = `${body.name ?? ""}`;
  const isRenamed = name !== "" && name !== organization.name;
  const refusal = isRenamed ? nameRefusal(name) : undefined;
  if (refusal) return refusal;
  const isSame = name.toLowerCase() === organization.name.toLowerCase();
  if (isRenamed && !isSame && isTaken(name, deployment))
    return json(409, {
      message: `Organization already exists with the name "${name}".`,
      validations: [{ field: "name", detail: "This value is already in use and should be unique." }],
    });
  if (isRenamed) organization.name = name;
  if (body.display_name) organization.display_name = `${body.display_name}`;
  if (body.description !== undefined) organization.description = `${body.description}`;
  if (body.icon !== undefined) organization.icon = `${body.icon}`;
  organization.updated_at = deployment.timestamp;
  return json(200, organizationView(organization, deployment));
}

/** The person who made it, and its group of everybody, do not keep it. One that is gone can be deleted again. */
function deleteOrganization({ deployment, params, account }: Call): Reply {
  const { inside, keys } = deployment;
  const { organization: nameOrId = "" } = params;
  if (inside.isClosed(nameOrId)) return message(200, "Organization has been deleted.");
  const organization = deployment.findOrganization(nameOrId);
  if (!organization || !account.owner) return notFound;
  const { id } = organization;
  if (organization.is_default) return message(400, "Default organization cannot be deleted.");
  const counts = {
    member: inside.membersOf(id).length - 1,
    group: inside.groups.filter((group) => group.organization === id).length - 1,
    "provisioner key": keys.filter((key) => key.organization === id).length,
  };
  const left = Object.entries(counts).filter(([, count]) => count > 0);
  if (left.length > 0) {
    const parts = left.map(([what, count]) => `${count} ${what}${count === 1 ? "" : "s"}`);
    const detail = `This organization has ${parts.join(", ")} that must be deleted first.`;
    return message(500, "Error deleting organization.", detail);
  }
  deployment.organizations = deployment.organizations.filter((each) => each.id !== id);
  inside.close(id);
  return message(200, "Organization has been deleted.");
}

/** In some versions, people without rights see only themselves. */
function listMembers({ deployment, params, account }: Call): Reply {
  const { inside, timestamp, traits } = deployment;
  const organization = deployment.findOrganization(params.organization ?? "");
  if (!organization) return notFound;
  const isSeen = ({ id }: Person) => account.owner || traits.hasOpenMembership || id === account.id;
  const members = inside.membersOf(organization.id).filter(isSeen);
  return json(
    200,
    members.map(({ id, username, name, email, owner }) => ({
      user_id: id,
      organization_id: organization.id,
      created_at: timestamp,
      updated_at: timestamp,
      roles: [],
      username,
      name,
      email,
      global_roles: owner ? [{ name: "owner", display_name: "Owner" }] : [],
      ...traits.more.member,
    })),
  );
}

/** The roles that every organization has, by name and display name. */
const BUILT_IN = [
  ["organization-admin", "Organization Admin"],
  ["organization-auditor", "Organization Auditor"],
  ["organization-template-admin", "Organization Template Admin"],
  ["organization-user-admin", "Organization User Admin"],
  ["organization-workspace-creation-ban", "Organization Workspace Creation Ban"],
] as const;

function listRoles({ id }: Organization, { deployment }: Call): Reply {
  const { inside, traits } = deployment;
  const builtIn = [...BUILT_IN, ...traits.moreRoles].map(([name, displayName]) => ({
    ...roleView({ organization: id, name, displayName, permissions: [] }, traits),
    assignable: true,
    built_in: true,
  }));
  const custom = inside.roles
    .filter(({ organization }) => organization === id)
    .map((role) => ({ ...roleView(role, traits), assignable: true, built_in: false }));
  return json(200, [...builtIn, ...custom]);
}

function roleView({ organization, name, displayName, permissions }: SimulatedRole, { more }: Traits) {
  return {
    name,
    organization_id: organization,
    display_name: displayName,
    site_permissions: [],
    user_permissions: [],
    organization_permissions: permissions,
    ...more.role,
  };
}

function roleIn({ id }: Organization, { body }: Call): SimulatedRole {
  const permissions = Array.isArray(body.organization_permissions) ? body.organization_permissions : [];
  const name = `${body.name}`.toLowerCase();
  return { organization: id, name, displayName: `${body.display_name ?? ""}`, permissions };
}

function createRole(organization: Organization, call: Call): Reply {
  const { inside, traits } = call.deployment;
  const role = roleIn(organization, call);
  const refusal = roleRefusal(role, call);
  if (refusal) return refusal;
  if (inside.roles.some(({ name, organization: id }) => name === role.name && id === role.organization))
    return notUpdated(`pq: duplicate key value violates unique constraint "${traits.roleIndex}"`);
  inside.roles = [...inside.roles, role];
  return json(200, roleView(role, traits));
}

/** Types of resources that permissions of tests are about. */
const RESOURCES: readonly unknown[] = ["file", "group", "template", "workspace"];

function roleRefusal(
  { name, organization, permissions }: SimulatedRole,
  { body, deployment: { traits } }: Call,
): Reply | undefined {
  if (BUILT_IN.some(([builtIn]) => builtIn === name))
    return message(
      400,
      "Reserved role name",
      `"${name}" is a reserved role name, and not allowed to be used`,
    );
  if (!NAME.test(name)) {
    const detail = `Validation failed for tag "username" with value: "${name}"`;
    return json(400, { message: "Validation failed.", validations: [{ field: "name", detail }] });
  }
  if (Array.isArray(body.site_permissions) && body.site_permissions.length > 0)
    return message(
      400,
      "Invalid request, not allowed to assign site wide permissions for an organization role.",
      "organization scoped roles may not contain site wide permissions",
    );
  const types = permissions.map((permission) => (permission as { resource_type?: unknown }).resource_type);
  const unknown = types.find((type) => !RESOURCES.includes(type));
  if (unknown === undefined) return undefined;
  return notUpdated(`invalid role: org="${organization}": ${traits.unknownResource(`${unknown}`)}`);
}

function notUpdated(detail: string): Reply {
  return message(400, "Failed to update role permissions", detail);
}

function putRole(organization: Organization, call: Call): Reply {
  const { inside, traits } = call.deployment;
  const role = roleIn(organization, call);
  const known = inside.roles.find(
    ({ name, organization: id }) => name === role.name && id === role.organization,
  );
  if (!known) return notFound;
  known.displayName = role.displayName;
  known.permissions = role.permissions;
  return json(200, roleView(known, traits));
}

function deleteRole({ id }: Organization, { deployment: { inside }, params }: Call): Reply {
  const kept = inside.roles.filter(({ name, organization }) => name !== params.role || organization !== id);
  if (kept.length === inside.roles.length)
    return message(404, `No custom role with the name ${params.role} found`, "no role found");
  inside.roles = kept;
  return { status: 204, text: "", headers: { "Content-Type": "application/json; charset=utf-8" } };
}
