import type { Clock } from "kube-controller-runtime";
import { unfenced } from "kube-controller-runtime/testing";
import { PostgresAccounts } from "../../lab/coderd/accounts.ts";
import type { Database } from "../../lab/postgres.ts";
import {
  type DatabaseTarget,
  type OperatorAccess,
  operatorAccess,
} from "../../src/coder/operator-access/access.ts";
import type { OperatorToken } from "../../src/coder/operator-access/keys.ts";
import { type Connect, connectPostgres } from "../../src/coder/operator-access/session.ts";

/** A Secret as the API server keeps it: a write on an outdated version is refused. */
export class StoredToken {
  token: string | undefined;
  version = 0;

  write(token: string, readVersion: number): boolean {
    if (readVersion !== this.version) return false;
    this.token = token;
    this.version++;
    return true;
  }
}

export function targetOf(
  database: Pick<Database, "url">,
  changes: Partial<DatabaseTarget> = {},
): DatabaseTarget {
  return {
    connectionUrl: database.url,
    controlPlane: { namespace: "prod", name: "coder", uid: "1" },
    readFile: async () => undefined,
    ...changes,
  };
}

/** What a reconciler does: ensure, store what is new, and so again until nothing is new. */
export async function converge(
  access: OperatorAccess,
  target: DatabaseTarget,
  store: StoredToken,
): Promise<OperatorToken> {
  for (;;) {
    const { token: held, version } = store;
    const result = await access.ensureToken(target, held);
    // Of many at once on a slow machine, the last may wait for the lock for too long.
    if (!result.ok && result.failure.kind === "timeout") continue;
    if (!result.ok) throw new Error(`${result.failure.kind}: ${result.failure.message}`);
    if (result.value.issuedBecause === undefined) return result.value;
    store.write(result.value.token, version);
  }
}

/** Asks as coderd would whether it accepts a token, and whose it is. */
export async function acceptedAs(
  database: Database,
  token: string | undefined,
  clock: Pick<Clock, "now">,
): Promise<string | undefined> {
  const accounts = new PostgresAccounts(database.url);
  const account = await accounts.find(token ?? "", clock.now());
  await accounts.close();
  return account && `${account.username}${account.owner ? " (owner)" : ""}`;
}

/** Connects as usual and passes every statement to `watch`, before and after it ran. */
export function watchedConnect(
  watch: (sql: string, when: "before" | "after") => void | Promise<void>,
): Connect {
  return async (...way) => {
    const session = await connectPostgres(...way);
    return {
      close: () => session.close(),
      query: async (sql, values) => {
        await watch(sql, "before");
        const rows = await session.query(sql, values);
        await watch(sql, "after");
        return rows;
      },
    };
  };
}

/** Access that records the statements it runs. */
export function recordedAccess(clock: Clock): { access: OperatorAccess; statements: string[] } {
  const statements: string[] = [];
  const connect = watchedConnect((sql, when) => {
    if (when === "before") statements.push(sql.trim());
  });
  return { access: operatorAccess({ clock, fence: unfenced, connect }), statements };
}

/** The process dies at one statement: just before it reached the database, or just after. */
export function crashingAccess(
  clock: Clock,
  at: { readonly statement: number; readonly when: "before" | "after" },
): OperatorAccess {
  let count = 0;
  const connect = watchedConnect((_, when) => {
    if (when === "before") count++;
    if (count === at.statement && when === at.when) throw new Error("killed");
  });
  return operatorAccess({ clock, fence: unfenced, connect });
}

/** The name of the token of the control plane that `targetOf` names. */
const TOKEN_NAME = "coder-k8s-operator-9daacaed8182e491";

/** coderd's own system user, which its migrations make. */
const PREBUILDS = "prebuilds";

/** The whole outcome in one look: who there is, what it may do, which tokens live. */
export async function outcomeOf(database: Database, store: StoredToken, clock: Pick<Clock, "now">) {
  const ours = `username <> '${PREBUILDS}'`;
  const users = await database.query(`SELECT username FROM users WHERE NOT deleted AND ${ours}`);
  const members = await database.query(
    `SELECT m.roles FROM organization_members m JOIN users u ON u.id = m.user_id WHERE u.${ours}`,
  );
  const keys = await database.query("SELECT token_name FROM api_keys");
  return {
    users: users.map(({ username }) => username),
    memberships: members.map(({ roles }) => roles),
    keys: keys.map(({ token_name: name }) => name),
    stored: await acceptedAs(database, store.token, clock),
  };
}

/** What there must be in the end: one user, one live token, and that one stored. */
export const CONVERGED = {
  users: ["coder-k8s-operator"],
  memberships: [["organization-admin"]],
  keys: [TOKEN_NAME],
  stored: "coder-k8s-operator (owner)",
};
