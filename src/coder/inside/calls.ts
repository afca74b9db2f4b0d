import type { Decoder } from "../decode.ts";
import type { CoderFailure } from "../failure.ts";
import type { AnswerShape } from "../http/answer.ts";
import type { HttpRequest } from "../http/host.ts";
import type { Result } from "../result.ts";
import * as groups from "./groups.ts";
import * as organizations from "./organizations.ts";
import * as signOn from "./sign-on.ts";

type CoderResult<T> = Promise<Result<T, CoderFailure>>;

/** What the operator asks of a coderd about organizations, groups and sign-on. Each takes the id of its organization. */
export interface InsideCalls {
  organizationEntities(): CoderResult<readonly organizations.OrganizationEntity[]>;
  createOrganization(organization: NewOrganization): CoderResult<organizations.OrganizationEntity>;
  setOrganization(
    id: string,
    change: organizations.OrganizationChange,
  ): CoderResult<organizations.OrganizationEntity>;
  /** `invalid` says what of the organization has to be deleted first. */
  deleteOrganization(id: string): CoderResult<void>;
  /** All members, with names that differ by more than case. */
  organizationMembers(organizationId: string): CoderResult<readonly groups.Member[]>;
  /** Built-in and custom roles. */
  organizationRoles(organizationId: string): CoderResult<readonly organizations.OrganizationRole[]>;
  createRole(organizationId: string, role: organizations.CustomRole): CoderResult<void>;
  setRole(organizationId: string, role: organizations.CustomRole): CoderResult<void>;
  deleteRole(organizationId: string, name: string): CoderResult<void>;
  groups(organizationId: string): CoderResult<readonly groups.Group[]>;
  createGroup(organizationId: string, group: NewGroup): CoderResult<groups.Group>;
  setGroup(id: string, change: groups.GroupChange): CoderResult<groups.Group>;
  deleteGroup(id: string): CoderResult<void>;
  groupSync(organizationId: string): CoderResult<signOn.GroupSync>;
  setGroupSync(organizationId: string, sync: signOn.GroupSync): CoderResult<void>;
  roleSync(organizationId: string): CoderResult<signOn.RoleSync>;
  setRoleSync(organizationId: string, sync: signOn.RoleSync): CoderResult<void>;
  organizationSync(): CoderResult<signOn.OrganizationSync>;
  setOrganizationSync(sync: signOn.OrganizationSync): CoderResult<void>;
}

type NewOrganization = organizations.OrganizationChange & { readonly name: string };
type NewGroup = Omit<groups.GroupChange, "addUsers" | "removeUsers"> & { readonly name: string };

interface Call<T> {
  readonly decoder: Decoder<T>;
  readonly body?: unknown;
  readonly secrets?: readonly string[];
  readonly answerShape?: AnswerShape | undefined;
}

type Caller = <T>(method: HttpRequest["method"], path: string, call: Call<T>) => CoderResult<T>;

const nothing: Decoder<void> = () => undefined;

const ORGANIZATIONS = "/api/v2/organizations";
const ORGANIZATION_SYNC = "/api/v2/settings/idpsync/organization";

export function insideCalls(call: Caller): InsideCalls {
  const get = <T>(path: string, decoder: Decoder<T>, answerShape?: AnswerShape) =>
    call("GET", path, { decoder, answerShape });
  const send = (method: HttpRequest["method"], path: string, body: unknown) =>
    call(method, path, { decoder: nothing, body });
  /** Values of claims are private, so messages about a refusal must not quote them. */
  const setSync = <T extends { readonly mapping: signOn.Mapping }>(path: string, body: T) =>
    call("PATCH", path, { decoder: nothing, body, secrets: Object.keys(body.mapping) });
  const within = (id: string, rest = "") => `${ORGANIZATIONS}/${encodeURIComponent(id)}${rest}`;
  const group = (id: string) => `/api/v2/groups/${encodeURIComponent(id)}`;
  const sync = (id: string, what: string) => within(id, `/settings/idpsync/${what}`);
  const { organizationEntity, organizationEntities, organizationBody, roleBody } = organizations;
  const withGroup = { decoder: groups.group, answerShape: groups.groupShape };
  return {
    organizationEntities: () => get(ORGANIZATIONS, organizationEntities),
    createOrganization: (organization) =>
      call("POST", ORGANIZATIONS, { decoder: organizationEntity, body: organizationBody(organization) }),
    setOrganization: (id, change) =>
      call("PATCH", within(id), { decoder: organizationEntity, body: organizationBody(change) }),
    deleteOrganization: (id) => send("DELETE", within(id), undefined),
    organizationMembers: (id) => get(within(id, "/members"), groups.members, groups.memberShape),
    organizationRoles: (id) => get(within(id, "/members/roles"), organizations.organizationRoles),
    createRole: (id, role) => send("POST", within(id, "/members/roles"), roleBody(role)),
    setRole: (id, role) => send("PUT", within(id, "/members/roles"), roleBody(role)),
    deleteRole: (id, name) =>
      send("DELETE", within(id, `/members/roles/${encodeURIComponent(name)}`), undefined),
    groups: (id) => get(within(id, "/groups"), groups.groups, groups.groupShape),
    createGroup: (id, body) =>
      call("POST", within(id, "/groups"), { ...withGroup, body: groups.groupBody(body) }),
    setGroup: (id, change) => call("PATCH", group(id), { ...withGroup, body: groups.groupBody(change) }),
    deleteGroup: (id) => send("DELETE", group(id), undefined),
    groupSync: (id) => get(sync(id, "groups"), signOn.groupSync),
    setGroupSync: (id, body) => setSync(sync(id, "groups"), signOn.groupSyncBody(body)),
    roleSync: (id) => get(sync(id, "roles"), signOn.roleSync),
    setRoleSync: (id, body) => setSync(sync(id, "roles"), signOn.roleSyncBody(body)),
    organizationSync: () => get(ORGANIZATION_SYNC, signOn.organizationSync),
    setOrganizationSync: (body) => setSync(ORGANIZATION_SYNC, signOn.organizationSyncBody(body)),
  };
}
