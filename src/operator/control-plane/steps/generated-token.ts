import { findCondition, NotOursError, timestamp } from "kube-controller-runtime";
import type { DatabaseTarget } from "../../../coder/operator-access/access.ts";
import type { OperatorToken } from "../../../coder/operator-access/keys.ts";
import { RENEW_BEFORE_MS } from "../../../coder/operator-access/token.ts";
import { failed, type Result as Outcome, succeeded } from "../../../coder/result.ts";
import type { SecretKey } from "../../normalise.ts";
import { databaseVariable } from "../references.ts";
import type { HeldToken } from "../resources/token-secret.ts";
import { conditionTypes } from "../status.ts";
import { noAccess, ready } from "./access-result.ts";
import { type AccessProblem, atDatabase, databaseProblem, RETRY_MS, type Run } from "./database.ts";
import type { Result } from "./result.ts";
import { checkToken, type TokenCheck, wasGood } from "./token-check.ts";
import { cachedSecret, handOver, heldToken, readSecretAnew, storeToken } from "./token-store.ts";

/** Others may write the Secret at the same moment; whoever loses looks again, this often at most. */
const MOST_HAND_OVERS = 5;

const RENEWAL_FAILED = "RenewalFailed";

/**
 * What to do about the token that the Secret holds.
 * - `keep`: it works; nobody is asked.
 * - `renew`: it works, but it ends soon, its predecessor may still be valid, or its user is not a member of every
 *   organization. Failing at that is no outage.
 * - `obtain`: nothing says that it works, so the database has to.
 */
type TokenPlan = "keep" | "renew" | "obtain";

interface TokenFacts {
  readonly now: number;
  readonly wasGood: boolean;
  readonly lacksMembership?: boolean;
}

export function planToken(
  held: Pick<HeldToken, "expiresAt"> | undefined,
  verdict: TokenCheck["verdict"] | undefined,
  { now, wasGood, lacksMembership = false }: TokenFacts,
): TokenPlan {
  if (!held || verdict === undefined || verdict === "rejected") return "obtain";
  if (verdict === "unclear" && !wasGood) return "obtain";
  const { expiresAt } = held;
  const endsSoon = expiresAt === undefined || expiresAt - now < RENEW_BEFORE_MS;
  return endsSoon || lacksMembership ? "renew" : "keep";
}

/** Uses the token that the operator has made for itself, and makes one through coderd's database if need be. */
export async function useGeneratedToken(ref: SecretKey, run: Run): Promise<Result<string>> {
  const held = heldToken(ref, cachedSecret(ref, run), run);
  const check = held && (await checkToken(held.token, run));
  const facts = {
    now: run.snapshot.now,
    wasGood: held !== undefined && wasGood(held.token, ref, run),
    lacksMembership: check?.verdict === "good" && check.lacksMembership === true,
  };
  const plan = planToken(held, check?.verdict, facts);
  if (held && plan === "keep") {
    await storeToken(ref, held, run);
    return ready(held.token, ref, check?.nextCheckMs);
  }
  const inputs = [held?.token ?? "", String(run.serving)];
  const obtained = await atDatabase(run, inputs, (target) => obtainToken(ref, target, run));
  if (obtained.ok) return ready(obtained.value.token, ref, obtained.value.nextCheckMs);
  return held && plan === "renew"
    ? notRenewed(ref, held, { run, why: obtained.failure })
    : noAccess(obtained.failure);
}

type Obtained = Outcome<{ readonly token: string; readonly nextCheckMs: number }, AccessProblem>;

/**
 * Asks the database about the stored token, stores the one it gives instead if that is no good, and so again
 * until what is stored is what the database confirms, which ends all others. The Secret is written on the
 * condition that it still is as it was read, so that of several operators one wins, and read past the cache
 * once that has turned out to be behind.
 */
async function obtainToken(ref: SecretKey, target: DatabaseTarget, run: Run): Promise<Obtained> {
  const { memory, ports } = run.environment;
  for (let attempt = 1; attempt <= MOST_HAND_OVERS; attempt++) {
    const present = memory.tokenSecretUnseen ? await readSecretAnew(ref, run) : cachedSecret(ref, run);
    const issued = await ports.database.ensureToken(target, heldToken(ref, present, run)?.token);
    if (!issued.ok) return failed(databaseProblem(issued.failure));
    const { token, expiresAt, issuedBecause, hasPredecessor } = issued.value;
    if (issuedBecause === undefined) {
      await storeToken(ref, { token, expiresAt }, run);
      return confirm(token, run);
    }
    const held = { token, expiresAt: hasPredecessor ? undefined : expiresAt };
    const isStored = await handOver(ref, held, { present, run });
    if (isStored) announce(ref, issuedBecause, run);
    if (isStored && !hasPredecessor) return confirm(token, run);
    if (!isStored) await distrustCache(ref, target, run);
  }
  throw new Error(`Secret "${ref.name}" was changed by somebody else ${MOST_HAND_OVERS} times in a row`);
}

/**
 * From now on the Secret is read past the cache, and the next run looks again whose it is. A token that can't be
 * kept because the Secret is not ours ends.
 */
async function distrustCache(ref: SecretKey, target: DatabaseTarget, run: Run): Promise<void> {
  run.environment.memory.tokenSecretUnseen = true;
  delete run.environment.memory.freeTokenSecret;
  await readSecretAnew(ref, run).catch(async (error) => {
    if (error instanceof NotOursError) await run.environment.ports.database.revokeToken(target);
    throw error;
  });
}

/** coderd has the last word: its database may be another one than the operator was told. */
async function confirm(token: string, run: Run): Promise<Obtained> {
  const check = await checkToken(token, run);
  if (check.verdict !== "rejected") return succeeded({ token, nextCheckMs: check.nextCheckMs });
  const message = `coderd refuses the token that its database has: ${check.message}; does ${databaseVariable} name the database that coderd uses?`;
  return failed({ reason: "TokenRejected", message, retryMs: RETRY_MS });
}

/** What was wrong with the token that the Secret had. */
const faults: Readonly<Record<NonNullable<OperatorToken["issuedBecause"]>, string>> = {
  missing: "There was no token in the Secret",
  unknown: "coderd's database does not have the token that was stored",
  wrongSecret: "The stored token is not the one that coderd's database has",
  restricted: "The stored token did not have all rights",
  expired: "The stored token had expired",
  expiring: "The stored token was about to expire",
};

/** The first token is part of a normal start. */
function announce(ref: SecretKey, because: keyof typeof faults, { snapshot, environment }: Run): void {
  if (!snapshot.object.status?.operatorTokenSecretRef) return;
  const message = `${faults[because]}; a new one is in Secret "${ref.name}".`;
  environment.context.events.event(snapshot.object, { type: "Normal", reason: "TokenIssued", message });
}

/** The token still works, so nothing is broken yet; but whoever looks should see what is coming. */
function notRenewed(
  ref: SecretKey,
  { token, expiresAt }: HeldToken,
  { run, why }: { run: Run; why: AccessProblem },
): Result<string> {
  const { snapshot, environment } = run;
  const end = expiresAt === undefined ? "" : ` until ${timestamp(expiresAt)}`;
  const message = `the operator's token in Secret "${ref.name}" works${end}, but could not be renewed: ${why.message}`;
  const before = findCondition(snapshot.object.status?.conditions, conditionTypes.access);
  if (before?.reason !== RENEWAL_FAILED)
    environment.context.events.event(snapshot.object, { type: "Warning", reason: RENEWAL_FAILED, message });
  return {
    ...ready(token, ref, why.retryMs),
    condition: { status: "True", reason: RENEWAL_FAILED, message },
  };
}
