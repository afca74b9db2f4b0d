import {
  boolean,
  type Decoded,
  type Decoder,
  list,
  object,
  optional,
  record,
  string,
  word,
} from "../decode.ts";

/*
 * What coderd makes of the claims that an identity provider sends with a sign-on.
 */

/** From a value of the claim to ids, or to names of roles; sorted, so that equal mappings compare equal. */
export type Mapping = Readonly<Record<string, readonly string[]>>;

const sortedWords: Decoder<readonly string[]> = (value, path) => list(word)(value, path).toSorted();

const mapping: Decoder<Mapping> = (value, path) => optional(record(sortedWords))(value, path) ?? {};

export const groupSync = object((field) => ({
  /** The name of the claim; empty means that nothing is synced. */
  field: field("field", string),
  /** To ids of groups. */
  mapping: field("mapping", mapping),
  regexFilter: field("regex_filter", optional(string)) ?? "",
  autoCreate: field("auto_create_missing_groups", boolean),
}));
export type GroupSync = Decoded<typeof groupSync>;

/** coderd refuses a mapping in the form that it had earlier, so that is never sent. */
export function groupSyncBody({ field, mapping, regexFilter, autoCreate }: GroupSync) {
  return {
    field,
    mapping,
    regex_filter: regexFilter === "" ? null : regexFilter,
    auto_create_missing_groups: autoCreate,
  };
}

export const roleSync = object((field) => ({
  field: field("field", string),
  /** To names of roles of the organization. */
  mapping: field("mapping", mapping),
}));
export type RoleSync = Decoded<typeof roleSync>;

export function roleSyncBody({ field, mapping }: RoleSync) {
  return { field, mapping };
}

export const organizationSync = object((field) => ({
  field: field("field", string),
  /** To ids of organizations. */
  mapping: field("mapping", mapping),
  assignDefault: field("organization_assign_default", boolean),
}));
export type OrganizationSync = Decoded<typeof organizationSync>;

export function organizationSyncBody({ field, mapping, assignDefault }: OrganizationSync) {
  return { field, mapping, organization_assign_default: assignDefault };
}
