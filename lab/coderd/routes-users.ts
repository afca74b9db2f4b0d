import { randomUUID } from "node:crypto";
import type { Person } from "./people.ts";
import { json, message, notFound, type Reply } from "./reply.ts";
import type { Call, Route } from "./route.ts";

const FIRST = "/api/v2/users/first";

export const userRoutes: readonly Route[] = [
  { method: "GET", path: FIRST, open: true, handle: hasFirstUser },
  { method: "POST", path: FIRST, open: true, handle: createFirstUser },
  { method: "POST", path: "/api/v2/users/login", open: true, handle: logIn },
  { method: "POST", path: "/api/v2/users/logout", handle: logOut },
  { method: "GET", path: "/api/v2/users/:user", handle: getUser },
];

const MIN_ENTROPY = 52;
const MAX_PASSWORD_LENGTH = 64;
const MAX_USERNAME_LENGTH = 32;

function hasFirstUser({ deployment }: Call): Reply {
  return deployment.people.all.length > 0
    ? message(200, "The initial user has already been created!")
    : message(404, "The initial user has not been created!");
}

function createFirstUser({ deployment, body }: Call): Reply {
  const { email = "", username = "", name = "", password = "" } = body as Partial<Person>;
  const refused = refuseUser({ email, username, password });
  if (refused) return refused;
  if (deployment.people.all.length > 0) return message(409, "The initial user has already been created.");
  const weakness = weaknessOf(password ?? "");
  if (weakness)
    return json(400, {
      message: "Password is invalid",
      validations: [{ field: "password", detail: weakness }],
    });
  const { id } = deployment.people.add({ email, username, name, password });
  return json(201, { user_id: id, organization_id: deployment.organizations[0]?.id ?? randomUUID() });
}

function refuseUser({ email, username, password }: Partial<Person>): Reply | undefined {
  const tags = [
    [
      "email",
      email === "" ? "required" : /^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(email ?? "") ? "" : "email",
      email,
    ],
    ["username", username === "" ? "required" : isName(username ?? "") ? "" : "username", username],
    ["password", password === "" ? "required" : "", password],
  ] as const;
  const validations = tags
    .filter(([, tag]) => tag !== "")
    .map(([field, tag, value]) => ({
      field,
      detail: `Validation failed for tag "${tag}" with value: "${value}"`,
    }));
  return validations.length > 0 ? json(400, { message: "Validation failed.", validations }) : undefined;
}

function isName(text: string): boolean {
  return text.length <= MAX_USERNAME_LENGTH && /^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$/.test(text);
}

const SPECIAL_CHARACTERS = ["!@$&*", "_-., ", "\"#%'()+/:;<=>?[\\]^{|}~"];
const LETTERS_AND_DIGITS: readonly [characters: string, advice: string][] = [
  ["abcdefghijklmnopqrstuvwxyz", "using lowercase letters"],
  ["ABCDEFGHIJKLMNOPQRSTUVWXYZ", "using uppercase letters"],
  ["0123456789", "using numbers"],
];

/** Roughly as coderd: by the number of characters that each kind in it could be. */
function weaknessOf(password: string): string | undefined {
  const has = (characters: string) => [...password].some((character) => characters.includes(character));
  const kinds = [...SPECIAL_CHARACTERS, ...LETTERS_AND_DIGITS.map(([characters]) => characters)];
  const base = kinds.filter(has).reduce((sum, { length }) => sum + length, 0);
  if (password.length * Math.log2(base) >= MIN_ENTROPY)
    return password.length > MAX_PASSWORD_LENGTH
      ? `password must be no more than ${MAX_PASSWORD_LENGTH} characters`
      : undefined;
  const advice = [
    ...(SPECIAL_CHARACTERS.every(has) ? [] : ["including more special characters"]),
    ...LETTERS_AND_DIGITS.flatMap(([characters, text]) => (has(characters) ? [] : [text])),
  ];
  const attempts =
    advice.length > 0 ? `${advice.join(", ")} or using a longer password` : "using a longer password";
  return `insecure password, try ${attempts}`;
}

function logIn({ deployment, body }: Call): Reply {
  const { email = "", password = "" } = body as { email?: string; password?: string };
  const token = deployment.people.logIn(email, password, deployment.timestamp);
  return token === undefined
    ? message(401, "Incorrect email or password.")
    : json(201, { session_token: token });
}

function logOut({ deployment, headers }: Call): Reply {
  deployment.people.logOut(String(headers["coder-session-token"]));
  return message(200, "Logged out!");
}

function getUser({ deployment, params, account }: Call): Reply {
  const { user = "" } = params;
  const found = deployment.people.find(user);
  if (!found && deployment.traits.refusesMissingUsers)
    return message(400, '"user" must be an existing uuid or username.', `queried user="${user}"`);
  if (!found || !(account.owner || account.id === found.id)) return notFound;
  return json(200, userView({ ...found, loginType: "password" }, deployment));
}

/** A user as those see it who may. */
export function userView(
  user: Pick<Person, "id" | "username" | "name" | "email" | "owner"> & {
    readonly loginType: string;
    readonly createdAt?: string;
    readonly organizationIds?: readonly string[];
  },
  { timestamp, organizations, traits }: Pick<Call["deployment"], "timestamp" | "organizations" | "traits">,
): object {
  const createdAt = user.createdAt ?? timestamp;
  return {
    id: user.id,
    username: user.username,
    name: user.name,
    email: user.email,
    created_at: createdAt,
    updated_at: createdAt,
    last_seen_at: timestamp,
    status: "active",
    login_type: user.loginType,
    organization_ids: user.organizationIds ?? organizations.map(({ id }) => id),
    roles: user.owner ? [{ name: "owner", display_name: "Owner" }] : [],
    ...traits.more.user,
  };
}
