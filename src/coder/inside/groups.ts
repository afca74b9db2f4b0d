import { type Decoded, list, number, object, string, word } from "../decode.ts";
import type { AnswerShape } from "../http/answer.ts";

const memberId = object((field) => field("id", word));

export const group = object((field) => ({
  id: field("id", word),
  name: field("name", string),
  displayName: field("display_name", string),
  avatarURL: field("avatar_url", string),
  quotaAllowance: field("quota_allowance", number),
  /** The ids of its members, sorted. */
  members: field("members", list(memberId)).toSorted(),
}));
export type Group = Decoded<typeof group>;

export const groups = list(group);

const GROUP_FIELDS = new Set(["id", "name", "display_name", "avatar_url", "quota_allowance", "members"]);

/** coderd lists all members of all groups with all that it knows of them; 80,000 ids and their groups fit. */
export const groupShape: AnswerShape = {
  keptFields: [GROUP_FIELDS, new Set(["id"])],
  maxBytes: 4 * 1024 * 1024,
  maxValues: 200_000,
};

/** A member of an organization. */
const member = object((field) => ({
  id: field("user_id", word),
  username: field("username", string),
}));
export type Member = Decoded<typeof member>;

export const members = list(member);

export const memberShape: AnswerShape = { ...groupShape, keptFields: [new Set(["user_id", "username"])] };

/** What is set of a group; what is absent stays as it is. */
export interface GroupChange {
  readonly name?: string;
  readonly displayName?: string;
  readonly avatarURL?: string;
  readonly quotaAllowance?: number;
  readonly addUsers?: readonly string[];
  readonly removeUsers?: readonly string[];
}

export function groupBody({ name, displayName, avatarURL, quotaAllowance, ...users }: GroupChange) {
  return {
    name,
    display_name: displayName,
    avatar_url: avatarURL,
    quota_allowance: quotaAllowance,
    add_users: users.addUsers,
    remove_users: users.removeUsers,
  };
}
