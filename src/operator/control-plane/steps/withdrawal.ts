import { failed, succeeded } from "../../../coder/result.ts";
import { Secret } from "../../../runtime/kinds.ts";
import { type AccessProblem, atDatabase, databaseProblem, NO_CONNECTION_URL, type Run } from "./database.ts";
import { ownedSecrets } from "./token-store.ts";

/**
 * Revokes the token that the operator made earlier, and then removes its Secret, which is the mark that there is
 * something to revoke. Returns what stands in the way; nothing when there is no such token (any more).
 */
export async function withdrawToken(run: Run): Promise<AccessProblem | undefined> {
  const { snapshot, environment } = run;
  if (ownedSecrets(run).length === 0) return undefined;
  const revoked = await atDatabase(run, ["revoke"], async (target) => {
    const result = await environment.ports.database.revokeToken(target);
    return result.ok ? succeeded(undefined) : failed(databaseProblem(result.failure));
  });
  if (!revoked.ok && revoked.failure.reason !== NO_CONNECTION_URL) return revoked.failure;
  await environment.context.children.converge(Secret, [], snapshot.owner);
  delete environment.memory.token;
  const message = revoked.ok
    ? "revoked the operator's own token and removed its Secret"
    : `removed the Secret of the operator's own token, which could not be revoked: ${revoked.failure.message}`;
  const type = revoked.ok ? "Normal" : "Warning";
  environment.context.events.event(snapshot.object, { type, reason: "TokenRevoked", message });
  return undefined;
}
