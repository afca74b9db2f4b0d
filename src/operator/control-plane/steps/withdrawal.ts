import { Secret } from "kube-controller-runtime";
import { type AccessProblem, NO_CONNECTION_URL, type Run } from "./database.ts";
import { hadToken, revokeToken } from "./revocation.ts";
import { ownedSecrets } from "./token-store.ts";

/**
 * Revokes the token that the operator made earlier, and then removes its Secret. Either is a mark that there is
 * something to revoke: the Secret, which somebody may have deleted, and the status. Returns what stands in the way;
 * nothing when there is no such token (any more).
 */
export async function withdrawToken(run: Run): Promise<AccessProblem | undefined> {
  const { snapshot, environment } = run;
  if (ownedSecrets(run).length === 0 && !hadToken(snapshot.object)) return undefined;
  const revoked = await revokeToken(run);
  if (!revoked.ok && revoked.failure.reason !== NO_CONNECTION_URL) return revoked.failure;
  await environment.context.children.converge(Secret, [], snapshot.owner);
  delete environment.memory.token;
  // Until the status is written, it says that there is a token to revoke.
  environment.memory.nextReport = { at: snapshot.now, awaitsReport: false };
  const message = revoked.ok
    ? "revoked the operator's own token and removed its Secret"
    : `removed the Secret of the operator's own token, which could not be revoked: ${revoked.failure.message}`;
  const type = revoked.ok ? "Normal" : "Warning";
  environment.context.events.event(snapshot.object, { type, reason: "TokenRevoked", message });
  return undefined;
}
