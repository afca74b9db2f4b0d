import { forbidden, json, message, notFound, type Reply } from "./reply.ts";
import type { Call, Route } from "./route.ts";

const ORGANIZATION = "/api/v2/settings/idpsync/organization";
const SYNC = "/api/v2/organizations/:organization/settings/idpsync";

/** No license is asked for on these routes: without the feature nothing is synced. */
export const signOnRoutes: readonly Route[] = [
  { method: "GET", path: ORGANIZATION, licensed: {}, handle: forOwners(getOrganizationSync) },
  { method: "PATCH", path: ORGANIZATION, licensed: {}, handle: forOwners(setOrganizationSync) },
  { method: "GET", path: `${SYNC}/groups`, licensed: {}, handle: within(getGroupSync) },
  { method: "PATCH", path: `${SYNC}/groups`, licensed: {}, handle: within(setGroupSync) },
  { method: "GET", path: `${SYNC}/roles`, licensed: {}, handle: within(getRoleSync) },
  { method: "PATCH", path: `${SYNC}/roles`, licensed: {}, handle: within(setRoleSync) },
];

function forOwners(handle: (call: Call) => Reply): (call: Call) => Reply {
  return (call) => (call.account.owner ? handle(call) : forbidden);
}

function within(handle: (organizationId: string, call: Call) => Reply): (call: Call) => Reply {
  return forOwners((call) => {
    const organization = call.deployment.findOrganization(call.params.organization ?? "");
    return organization ? handle(organization.id, call) : notFound;
  });
}

const UUID_LENGTH = 36;

/** What coderd can't read in a mapping to IDs, or in a regular expression. */
function unreadable({ mapping, regex_filter: filter }: Call["body"]): Reply | undefined {
  const ids = Object.values((mapping ?? {}) as Record<string, readonly string[]>).flat();
  const short = ids.find(({ length }) => length !== UUID_LENGTH);
  if (short !== undefined) return notJSON(`invalid UUID length: ${short.length}`);
  try {
    new RegExp(`${filter ?? ""}`);
    return undefined;
  } catch {
    return notJSON(`error parsing regexp: missing closing ): \`${filter}\``);
  }
}

function notJSON(detail: string): Reply {
  return message(400, "Request body must be valid JSON.", detail);
}

function getOrganizationSync({ deployment }: Call): Reply {
  return json(200, deployment.inside.organizationSync);
}

function setOrganizationSync({ deployment, body }: Call): Reply {
  const refusal = unreadable(body);
  if (refusal) return refusal;
  deployment.inside.organizationSync = {
    field: body.field ?? "",
    mapping: body.mapping ?? {},
    organization_assign_default: body.organization_assign_default ?? false,
  };
  return json(200, deployment.inside.organizationSync);
}

function getGroupSync(id: string, { deployment }: Call): Reply {
  return json(200, deployment.inside.groupSync(id));
}

function setGroupSync(id: string, { deployment, body }: Call): Reply {
  const refusal = unreadable(body);
  if (refusal) return refusal;
  if (Object.keys((body.legacy_group_name_mapping ?? {}) as object).length > 0)
    return json(400, {
      message: "Unexpected field 'legacy_group_name_mapping'. Field not allowed, set to null or remove it.",
      detail: "legacy_group_name_mapping is deprecated, use mapping instead",
      validations: [{ field: "legacy_group_name_mapping", detail: "field is not allowed" }],
    });
  deployment.inside.setGroupSync(id, {
    field: body.field ?? "",
    mapping: body.mapping ?? {},
    regex_filter: body.regex_filter ?? null,
    auto_create_missing_groups: body.auto_create_missing_groups ?? false,
  });
  return json(200, deployment.inside.groupSync(id));
}

function getRoleSync(id: string, { deployment }: Call): Reply {
  return json(200, deployment.inside.roleSync(id));
}

function setRoleSync(id: string, { deployment, body }: Call): Reply {
  deployment.inside.setRoleSync(id, { field: body.field ?? "", mapping: body.mapping ?? {} });
  return json(200, deployment.inside.roleSync(id));
}
