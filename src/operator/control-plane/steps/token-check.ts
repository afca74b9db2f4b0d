import { fingerprint } from "kube-controller-runtime";
import type { CoderClient } from "../../../coder/client.ts";
import { redact } from "../../../coder/redact.ts";
import type { SecretKey } from "../../normalise.ts";
import { coderdClient } from "../coderd.ts";
import { RETRY_MS, type Run } from "./database.ts";

/** How often a token that works is tried again, in case somebody revoked it. */
const CHECK_EVERY_MS = 10 * 60_000;

const OWNER_ROLE = "owner";

/**
 * Whether coderd accepts a token, and lets it do what the operator needs. `lacksMembership`: coderd has organizations
 * that the operator is no member of.
 */
export type TokenCheck = { readonly nextCheckMs: number } & (
  | { readonly verdict: "good"; readonly lacksMembership?: boolean }
  | { readonly verdict: "rejected" | "unclear"; readonly message: string }
);

/** Asks coderd about the token, unless it was found good a few minutes ago. */
export async function checkToken(token: string, run: Run): Promise<TokenCheck> {
  const { snapshot, environment, serving } = run;
  const { memory } = environment;
  const hash = fingerprint([token]);
  const age = memory.token?.hash === hash ? snapshot.now - memory.token.checkedAt : CHECK_EVERY_MS;
  if (age < CHECK_EVERY_MS) return { verdict: "good", nextCheckMs: CHECK_EVERY_MS - age };
  if (!serving)
    return unclear("coderd has no ready pod behind its own Service yet, so the token could not be tried");
  const client = await coderdClient(snapshot.controlPlane, token, environment);
  const user = await client.currentUser();
  if (!user.ok && user.failure.kind !== "forbidden") return unclear(user.failure.message);
  const refusal = user.ok ? lacksRole(user.value) : user.failure.message;
  if (refusal !== undefined) {
    delete memory.token;
    return { verdict: "rejected", message: refusal, nextCheckMs: RETRY_MS };
  }
  memory.token = { hash, checkedAt: snapshot.now };
  const lacksMembership = user.ok && (await isOutside(user.value, client));
  return { verdict: "good", lacksMembership, nextCheckMs: CHECK_EVERY_MS };
}

/** Whether there are organizations that were made since the user became a member of all. */
async function isOutside(
  { organizationIds }: { readonly organizationIds: readonly string[] },
  client: Pick<CoderClient, "organizations">,
): Promise<boolean> {
  const organizations = await client.organizations();
  return organizations.ok && organizations.value.some(({ id }) => !organizationIds.includes(id));
}

/**
 * Whether the token in the Secret was good when it was last tried: what counts while coderd does not answer. A
 * process that has just started goes by the status.
 */
export function wasGood(token: string, { name }: SecretKey, { snapshot, environment }: Run): boolean {
  const { status } = snapshot.object;
  if (!status?.operatorAccessReady || status.operatorTokenSecretRef?.name !== name) return false;
  const known = environment.memory.token;
  return known === undefined || known.hash === fingerprint([token]);
}

function unclear(message: string): TokenCheck {
  return { verdict: "unclear", message, nextCheckMs: RETRY_MS };
}

function lacksRole(user: { readonly username: string; readonly roles: readonly string[] }) {
  if (user.roles.includes(OWNER_ROLE)) return undefined;
  return `user "${redact(user.username)}" does not have the role ${OWNER_ROLE}`;
}
