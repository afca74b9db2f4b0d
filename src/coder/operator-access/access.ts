import { type Clock, closedBy, type Fence } from "kube-controller-runtime";
import { failed, type Result, succeeded } from "../result.ts";
import { ensureAccount, USERNAME } from "./account.ts";
import { readTables } from "./catalog.ts";
import { parseConnectionUrl } from "./connection-url.ts";
import {
  type DatabaseFailure,
  DatabaseProblem,
  describeDatabaseError,
  mayDependOnEncryption,
} from "./failure.ts";
import { type DatabaseInspection, inspectDatabase } from "./inspect.ts";
import { ensureApiKey, type OperatorToken, revokeApiKeys } from "./keys.ts";
import { type Connect, connectPostgres, type DatabaseSession, inTransaction, lock } from "./session.ts";
import { encryptionAttempts, type TlsFiles } from "./tls.ts";
import { type ControlPlane, type TokenRequest, tokenName } from "./token.ts";

export interface DatabaseTarget {
  readonly connectionUrl: string;
  readonly controlPlane: ControlPlane;
  /** PEM certificates that coderd trusts in addition to the system's. Called only if needed. */
  readonly ca?: TlsFiles["ca"];
  /** Reads a certificate file from the connection URL as coderd's pod sees it. */
  readonly readFile: TlsFiles["readFile"];
}

export interface OperatorAccess {
  /**
   * Ensures that the system user of the operator exists with all its permissions, and that the control plane
   * has a valid token: the `held` token if it is valid and need not be replaced, otherwise a new one. The
   * caller must store a new token with the precondition that the store still contains the value that `held`
   * was read from. If the token has a predecessor, the caller must then pass the new token to this method
   * again, which revokes the predecessor. Until then, both are valid, so the stored token is always valid.
   * After a crash at any point, the same two steps lead to one valid token. Any number of processes can do
   * this concurrently.
   */
  ensureToken(
    target: DatabaseTarget,
    held: string | undefined,
    request?: TokenRequest,
  ): Promise<Result<OperatorToken, DatabaseFailure>>;
  /**
   * Revokes the tokens of the control plane that this cluster created, including held tokens unless they are
   * copies. The system user remains. Returns the number of revoked tokens.
   */
  revokeToken(target: DatabaseTarget, held?: readonly string[]): Promise<Result<number, DatabaseFailure>>;
  /**
   * Returns the facts about the database that an upgrade needs, such as the tokens of other control planes,
   * which share the database. Read-only; does not wait for a migration.
   */
  inspect(
    target: DatabaseTarget,
    tokenNames?: readonly string[],
  ): Promise<Result<DatabaseInspection, DatabaseFailure>>;
}

export interface OperatorAccessOptions {
  readonly clock: Pick<Clock, "now" | "setTimer">;
  readonly fence: Fence;
  readonly connect?: Connect;
}

/**
 * Without a limit, a server that responds to each statement just in time could block a reconcile for days.
 */
const MAX_SESSION_MS = 30_000;

/**
 * Operator access through the database of coderd. Each call opens a connection, runs one transaction and
 * closes the connection. It ends within 30 s, even if the server stalls.
 */
export function operatorAccess({
  clock,
  fence,
  connect = connectPostgres,
}: OperatorAccessOptions): OperatorAccess {
  const options = { connect, clock, fence };
  return {
    ensureToken: (target, held, request) =>
      transact(options, target, async (session) => {
        const tables = await readTables(session);
        const context = { session, tables, now: new Date(clock.now()) };
        const userId = await ensureAccount(context);
        const owner = { userId, tokenName: tokenName(target.controlPlane), uid: target.controlPlane.uid };
        await lock(session, owner.tokenName);
        return ensureApiKey(context, owner, { held, ...request });
      }),
    revokeToken: async (target, held = []) => {
      const { uid } = target.controlPlane;
      const owner = { username: USERNAME, tokenName: tokenName(target.controlPlane), uid, held };
      const revoked = await transact(options, target, async (session) => {
        await readTables(session);
        return revokeApiKeys(session, owner);
      });
      const nothingThere = !revoked.ok && revoked.failure.kind === "schemaMissing";
      return nothingThere ? succeeded(0) : revoked;
    },
    inspect: (target, tokenNames = []) =>
      transact(options, target, (session) => inspectDatabase(session, tokenNames)),
  };
}

async function transact<T>(
  { connect, clock, fence }: Required<OperatorAccessOptions>,
  target: DatabaseTarget,
  work: (session: DatabaseSession) => Promise<T>,
): Promise<Result<T, DatabaseFailure>> {
  const deadline = new AbortController();
  const cancel = clock.setTimer(() => deadline.abort(sessionTimedOut()), MAX_SESSION_MS);
  const bounded = closedBy(deadline.signal, fence);
  let session: DatabaseSession | undefined;
  try {
    const opened = await open(connect, target, bounded);
    session = opened;
    return succeeded(await inTransaction(opened, () => work(opened)));
  } catch (error) {
    fence.signal.throwIfAborted();
    return failed(describeDatabaseError(deadline.signal.reason ?? error));
  } finally {
    cancel();
    await session?.close();
  }
}

function sessionTimedOut(): DatabaseProblem {
  const message = `The database session took longer than ${MAX_SESSION_MS / 1_000} s; check the load of the database.`;
  return new DatabaseProblem("timeout", message);
}

/**
 * Connects with the first encryption attempt that succeeds. If all fail, throws the error of the last one.
 */
async function open(connect: Connect, target: DatabaseTarget, fence: Fence): Promise<DatabaseSession> {
  const settings = parseConnectionUrl(target.connectionUrl);
  if (!settings.ok) throw new DatabaseProblem("invalidUrl", settings.failure);
  let refusal: unknown;
  for (const encryption of await encryptionAttempts(settings.value, target)) {
    try {
      return await connect(settings.value, encryption, fence);
    } catch (error) {
      if (!mayDependOnEncryption(error)) throw error;
      refusal = error;
    }
  }
  throw refusal;
}
