import { randomBytes } from "node:crypto";
import { type ClientOptions, type CoderResult, caller, nothing } from "./call.ts";
import { type Decoder, object, string } from "./decode.ts";
import { type User, user } from "./model.ts";
import { succeeded } from "./result.ts";

/** The first user, which becomes the owner of coderd. */
export interface FirstUser {
  readonly email: string;
  readonly username: string;
  readonly name: string;
  readonly password: string;
}

type Login = Pick<FirstUser, "email" | "password">;

const FIRST_USER = "/api/v2/users/first";
const PASSWORD_BYTES = 24;

const sessionToken = object((field) => field("session_token", string));

/** Generates a password that coderd accepts. */
export function newPassword(): string {
  return randomBytes(PASSWORD_BYTES).toString("base64url");
}

export async function hasUsers(options: ClientOptions): CoderResult<boolean> {
  const answer = await withoutToken(options)("GET", FIRST_USER, { decoder: nothing });
  if (answer.ok) return succeeded(true);
  return answer.failure.kind === "notFound" ? succeeded(false) : answer;
}

export function createFirstUser(user: FirstUser, options: ClientOptions): CoderResult<void> {
  const { email, username, name, password } = user;
  const body = { email, username, name, password };
  return withoutToken(options)("POST", FIRST_USER, { decoder: nothing, body, secrets: [password] });
}

/** Logs in and out again, because coderd has no other way to check a password. */
export async function acceptsPassword({ email, password }: Login, options: ClientOptions) {
  const login = await withoutToken(options)("POST", "/api/v2/users/login", {
    decoder: sessionToken,
    body: { email, password },
    secrets: [password],
  });
  if (login.ok) {
    await caller({ ...options, token: login.value })("POST", "/api/v2/users/logout", { decoder: nothing });
    return succeeded(true);
  }
  if (login.failure.kind !== "forbidden") return login;
  // coderd compares the password before it reports that password logins are disabled.
  return succeeded(login.failure.why === "notPermitted");
}

/** Returns the user of this name, if any. Coder 2.26 calls the request for an unknown user invalid. */
export async function userNamed(
  username: string,
  get: <T>(path: string, decoder: Decoder<T>) => CoderResult<T>,
): CoderResult<User | undefined> {
  const answer = await get(`/api/v2/users/${encodeURIComponent(username)}`, user);
  if (answer.ok) return answer;
  const { kind } = answer.failure;
  return kind === "notFound" || kind === "invalid" ? succeeded(undefined) : answer;
}

function withoutToken(options: ClientOptions) {
  return caller({ ...options, token: undefined });
}
