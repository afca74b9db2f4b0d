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
  /** PEM certificates that coderd trusts besides the system's; asked for only where they decide. */
  readonly ca?: TlsFiles["ca"];
  /** Reads a certificate file that the connection URL names, as coderd's pod has it. */
  readonly readFile: TlsFiles["readFile"];
}

export interface OperatorAccess {
  /**
   * Makes sure that the operator's system user exists with all its rights and that there is a valid token for the
   * control plane: the `held` one if it is good and not to be replaced, else a new one. A new token must be stored, on
   * the condition that the store still has what `held` was read from, and then, if it has a predecessor, be passed to
   * this method again, which ends that. Until then both are valid, so that what is stored never becomes
   * invalid; after a crash at any point the same two steps lead to one valid token. Any number of processes may do
   * this at once.
   */
  ensureToken(
    target: DatabaseTarget,
    held: string | undefined,
    request?: TokenRequest,
  ): Promise<Result<OperatorToken, DatabaseFailure>>;
  /**
   * Ends the tokens of the control plane that this cluster wrote, those that are held among them unless they are copies;
   * the system user stays. Returns how many there were.
   */
  revokeToken(target: DatabaseTarget, held?: readonly string[]): Promise<Result<number, DatabaseFailure>>;
  /**
   * What an upgrade needs to know, such as which tokens of other control planes are here: those share the database.
   * Changes nothing, and does not wait for a migration to end.
   */
  look(
    target: DatabaseTarget,
    tokenNames?: readonly string[],
  ): Promise<Result<DatabaseInspection, DatabaseFailure>>;
}

export interface OperatorAccessOptions {
  readonly clock: Pick<Clock, "now" | "setTimer">;
  readonly fence: Fence;
  readonly connect?: Connect;
}

/** A server that answers every statement just in time could hold a run for days. */
const MAX_SESSION_MS = 30_000;

/**
 * Access for the operator through coderd's own database. Each call opens one connection, runs one transaction
 * and closes it again; none is kept. It is over within 30 s, even when the server stalls.
 */
export function operatorAccess({
  clock,
  fence,
  connect = connectPostgres,
}: OperatorAccessOptions): OperatorAccess {
  const way = { connect, clock, fence };
  return {
    ensureToken: (target, held, request) =>
      transact(way, target, async (session) => {
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
      const revoked = await transact(way, target, async (session) => {
        await readTables(session);
        return revokeApiKeys(session, owner);
      });
      const nothingThere = !revoked.ok && revoked.failure.kind === "schemaMissing";
      return nothingThere ? succeeded(0) : revoked;
    },
    look: (target, tokenNames = []) =>
      transact(way, target, (session) => inspectDatabase(session, tokenNames)),
  };
}

async function transact<T>(
  { connect, clock, fence }: Required<OperatorAccessOptions>,
  target: DatabaseTarget,
  work: (session: DatabaseSession) => Promise<T>,
): Promise<Result<T, DatabaseFailure>> {
  const deadline = new AbortController();
  const cancel = clock.setTimer(() => deadline.abort(tookTooLong()), MAX_SESSION_MS);
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

function tookTooLong(): DatabaseProblem {
  const message = `The database session took longer than ${MAX_SESSION_MS / 1_000} s; check the load of the database.`;
  return new DatabaseProblem("timeout", message);
}

/** Connects in the first way of encryption that works; when none does, the error is that of the last. */
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
