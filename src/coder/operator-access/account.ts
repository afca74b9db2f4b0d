import { randomUUID } from "node:crypto";
import type { Tables } from "./catalog.ts";
import { DatabaseProblem } from "./failure.ts";
import { type DatabaseSession, lock, type Row } from "./session.ts";
import { isTrue, texts } from "./values.ts";

export const USERNAME = "coder-k8s-operator";
const EMAIL = "coder-k8s-operator@coder-k8s.invalid";
const SITE_ROLE = "owner";
const ORGANIZATION_ROLE = "organization-admin";

export interface AccountContext {
  readonly session: DatabaseSession;
  readonly tables: Tables;
  readonly now: Date;
}

/**
 * Creates or repairs the system user and its role as administrator of every organization, and returns its ID.
 * If nothing needs to change, it takes no locks, so that operators do not wait for each other.
 */
export async function ensureAccount(context: AccountContext): Promise<string> {
  const [row, ...others] = await findAccounts(context);
  if (row && others.length === 0 && isOurs(row) && isCorrect(row)) {
    const id = String(row.id);
    if ((await missingMemberships(context, id)).length === 0) return id;
  }
  await lock(context.session, "coder-k8s operator access");
  const id = await createOrRepair(context);
  await ensureMemberships(context, id);
  return id;
}

/**
 * This lock mode allows others to insert keys for the user concurrently. They may hold locks that this
 * transaction waits for.
 */
async function createOrRepair(context: AccountContext): Promise<string> {
  const [row, ...others] = await findAccounts(context, "FOR NO KEY UPDATE");
  if (!row) return createAccount(context);
  if (others.length > 0 || !isOurs(row)) throw accountTaken();
  if (!isCorrect(row)) await repairAccount(context, row);
  return String(row.id);
}

function findAccounts(
  { session, tables }: AccountContext,
  locking: "" | "FOR NO KEY UPDATE" = "",
): Promise<readonly Row[]> {
  const isSystem = tables.users.has("is_system") ? "is_system" : "true";
  return session.query(
    `SELECT id, email, username, status::text, array_to_json(rbac_roles) AS rbac_roles, login_type::text,
            ${isSystem} AS is_system
     FROM users WHERE NOT deleted AND (lower(username) = $1 OR lower(email) = $2) ${locking}`,
    [USERNAME, EMAIL],
  );
}

/** Organizations in which the user is not an administrator, with its roles if it is a member. */
function missingMemberships({ session, tables }: AccountContext, userId: string): Promise<readonly Row[]> {
  const existing = tables.organizations.has("deleted") ? "NOT o.deleted" : "true";
  return session.query(
    `SELECT o.id, m.roles FROM organizations o
     LEFT JOIN organization_members m ON m.organization_id = o.id AND m.user_id = $1
     WHERE ${existing} AND (m.roles IS NULL OR NOT $2 = ANY (m.roles))`,
    [userId, ORGANIZATION_ROLE],
  );
}

async function ensureMemberships(context: AccountContext, userId: string): Promise<void> {
  const { session, tables, now } = context;
  for (const { id, roles } of await missingMemberships(context, userId)) {
    if (roles !== null) {
      await session.query(
        `UPDATE organization_members SET roles = array_append(roles, $1), updated_at = $2
         WHERE organization_id = $3 AND user_id = $4`,
        [ORGANIZATION_ROLE, now, id, userId],
      );
      continue;
    }
    const membership = { user_id: userId, organization_id: id, created_at: now, updated_at: now };
    await tables.organization_members.insert(session, { ...membership, roles: [ORGANIZATION_ROLE] });
  }
}

async function createAccount({ session, tables, now }: AccountContext): Promise<string> {
  const id = randomUUID();
  await tables.users.insert(session, {
    id,
    email: EMAIL,
    username: USERNAME,
    hashed_password: Buffer.alloc(0),
    created_at: now,
    updated_at: now,
    status: tables.users.label("status", "active"),
    rbac_roles: [SITE_ROLE],
    login_type: tables.users.label("login_type", "none"),
    name: "coder-k8s operator",
    is_system: true,
  });
  return id;
}

/**
 * A regular user must not become an owner by choosing the operator's name. Only an account that does not
 * allow logins, or that has the operator's email address, which cannot receive mail, is considered the
 * operator's.
 */
function isOurs(row: Row): boolean {
  return cannotLogIn(row) || String(row.email).toLowerCase() === EMAIL;
}

function cannotLogIn(row: Row): boolean {
  return row.login_type === "none" && isTrue(row.is_system);
}

function isCorrect(row: Row): boolean {
  const isNamed = row.email === EMAIL && row.username === USERNAME;
  return texts(row.rbac_roles).includes(SITE_ROLE) && cannotLogIn(row) && isNamed && row.status === "active";
}

/** Revokes all sessions and tokens of an account that allowed logins. */
async function repairAccount({ session, tables, now }: AccountContext, row: Row): Promise<void> {
  if (!cannotLogIn(row)) await session.query("DELETE FROM api_keys WHERE user_id = $1", [row.id]);
  const roles = texts(row.rbac_roles);
  const system = tables.users.has("is_system") ? ", is_system = true" : "";
  await session.query(
    `UPDATE users SET email = $2, username = $3, status = $4, rbac_roles = $5, login_type = $6,
       hashed_password = '', updated_at = $7${system}
     WHERE id = $1`,
    [
      row.id,
      EMAIL,
      USERNAME,
      tables.users.label("status", "active"),
      roles.includes(SITE_ROLE) ? roles : [...roles, SITE_ROLE],
      tables.users.label("login_type", "none"),
      now,
    ],
  );
}

function accountTaken(): DatabaseProblem {
  const message = `A coderd user that the operator did not create has the name ${USERNAME} or the email address ${EMAIL}; rename that user.`;
  return new DatabaseProblem("accountTaken", message);
}
