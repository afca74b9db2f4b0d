import { createHash } from "node:crypto";
import { type CoderdContext, coderdClient } from "../coderd.ts";
import type { Snapshot } from "../observe.ts";

/** How often a token that works is tried again, in case somebody revoked it. */
const CHECK_EVERY_MS = 10 * 60_000;

const OWNER_ROLE = "owner";

/** Whether coderd accepts a token, and lets it do what the operator needs. */
export type TokenCheck =
  | { readonly verdict: "good"; readonly nextCheckMs: number }
  | { readonly verdict: "rejected"; readonly message: string }
  | { readonly verdict: "unclear"; readonly message: string };

/** Asks coderd about the token, unless it was found good a few minutes ago. */
export async function checkToken(
  token: string,
  run: { snapshot: Snapshot; environment: CoderdContext; serving: boolean },
): Promise<TokenCheck> {
  const { snapshot, environment, serving } = run;
  const { memory } = environment;
  const hash = createHash("sha256").update(token).digest("hex");
  const age = memory.token?.hash === hash ? snapshot.now - memory.token.checkedAt : CHECK_EVERY_MS;
  if (age < CHECK_EVERY_MS) return { verdict: "good", nextCheckMs: CHECK_EVERY_MS - age };
  if (!serving)
    return { verdict: "unclear", message: "coderd has no ready pod yet, so the token could not be tried" };
  const client = await coderdClient(snapshot.controlPlane, token, environment);
  const user = await client.currentUser();
  if (!user.ok) {
    const verdict = user.failure.kind === "forbidden" ? "rejected" : "unclear";
    return { verdict, message: user.failure.message };
  }
  if (!user.value.roles.includes(OWNER_ROLE)) {
    return {
      verdict: "rejected",
      message: `user "${user.value.username}" does not have the role ${OWNER_ROLE}`,
    };
  }
  memory.token = { hash, checkedAt: snapshot.now };
  return { verdict: "good", nextCheckMs: CHECK_EVERY_MS };
}
