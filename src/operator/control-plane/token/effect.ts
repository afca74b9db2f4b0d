import {
  AlreadyOwnedError,
  type Effect,
  type Needs,
  type Progress,
  type Secret,
  type Stored,
} from "kube-controller-runtime";
import type { DatabaseTarget } from "../../../coder/operator-access/access.ts";
import { type IssueReason, isCopiedToken } from "../../../coder/operator-access/token.ts";
import type { AccessFailure } from "../../coderd/access-failure.ts";
import { rotationRequest } from "../../names.ts";
import type { SecretKey } from "../../normalize.ts";
import { searchAgain } from "../own-secret.ts";
import { databaseVariable } from "../references.ts";
import { checkToken, type TokenCheck, type TokenRun, wasGood } from "./check.ts";
import { connectionUrl, withHost } from "./database.ts";
import { isAsked, planToken, type TokenFacts, type TokenPlan } from "./plan.ts";
import { handOver, heldToken, refuseForeign, storeToken } from "./secret.ts";

/** State of the token in a reconcile. */
export interface TokenState {
  /** The Secret of the token. */
  readonly present: Stored<Secret> | undefined;
  readonly check: TokenCheck | undefined;
  readonly database: TokenFacts["database"];
  readonly isFresh: boolean;
}

type Step = Promise<Progress<TokenState, AccessFailure>>;

/** The other side is the database. Requests to coderd are part of the observation and never fail. */
const needs: Readonly<Record<TokenPlan["do"], Needs>> = {
  keep: "nothing",
  check: {},
  renew: { external: true },
  obtain: { external: true },
};

/**
 * A token that the operator creates in coderd's database. The Secret is written with its resource version as
 * a precondition, so that only one of several operators succeeds.
 */
export function tokenEffect(ref: SecretKey, run: TokenRun): Effect<TokenState, TokenPlan, AccessFailure> {
  return {
    plan: ({ present, check, database }) => {
      const { now, object } = run.snapshot;
      const held = heldToken(ref, present, run.snapshot);
      const isGood = held !== undefined && wasGood(held.token, ref, run);
      const isCopied = held !== undefined && isCopiedToken(held.token, object.metadata.uid);
      const rotation = rotationRequest(object);
      return planToken({ now, held, isCopied, check, database, wasGood: isGood, rotation });
    },
    needs: (plan) => needs[plan.do],
    act: async (plan, state) => {
      switch (plan.do) {
        case "keep":
          return { next: state };
        case "check": {
          const held = heldToken(ref, state.present, run.snapshot);
          return {
            next: { ...state, check: held && (await checkToken(held.token, run, { membership: true })) },
          };
        }
        case "renew":
        case "obtain":
          return obtain(ref, state, run);
      }
    },
  };
}

/**
 * Checks the stored token in the database, and stores a new one if it is not valid. For a confirmed token,
 * the database has revoked all others.
 */
async function obtain(ref: SecretKey, state: TokenState, run: TokenRun): Step {
  const { snapshot, environment } = run;
  const url = connectionUrl(snapshot);
  if (!url.ok) return { failed: url.failure };
  const target = snapshot.databaseAt(url.value);
  const { present } = state;
  const held = heldToken(ref, present, snapshot);
  const rotation = rotationRequest(snapshot.object);
  const request = { replace: isAsked(held, rotation) };
  const issued = await environment.ports.database.ensureToken(target, held?.token, request);
  if (!issued.ok) return { failed: withHost(issued.failure, run, url.value) };
  const { token, expiresAt, issuedBecause, hasPredecessor } = issued.value;
  if (issuedBecause === undefined) {
    await storeToken(ref, { token, expiresAt, rotation: held?.rotation }, run);
    return confirm(token, state, run);
  }
  const fresh = { token, expiresAt: hasPredecessor ? undefined : expiresAt, rotation };
  const stored = await handOver(ref, fresh, { present, run });
  if (!stored) return reread(ref, target, { state, run });
  announce(ref, faults[issuedBecause], run);
  const next = { ...state, present: stored, database: "issued" } as const;
  return hasPredecessor ? { next } : confirm(token, next, run);
}

/**
 * The Secret was changed by another writer, so this and the next reconcile read it from the API server.
 * Revokes a token that cannot be stored because the Secret has a different owner.
 */
async function reread(
  ref: SecretKey,
  target: DatabaseTarget,
  { state, run }: { readonly state: TokenState; readonly run: TokenRun },
): Step {
  const { memory, own, ports } = run.environment;
  searchAgain(memory.tokenSecret);
  const fresh = await own.readUncached([ref.name]);
  if (!fresh) return { overtaken: true };
  const [present] = fresh.secrets;
  try {
    refuseForeign(ref, present, run);
  } catch (error) {
    if (error instanceof AlreadyOwnedError) await ports.database.revokeToken(target);
    throw error;
  }
  return { next: { ...state, present, database: "issued", isFresh: true } };
}

/** coderd must confirm the token, because the spec may refer to a different database than coderd uses. */
async function confirm(token: string, state: TokenState, run: TokenRun): Step {
  const check = await checkToken(token, run);
  if (check.verdict !== "rejected") return { next: { ...state, check, database: "confirmed" } };
  const message = `coderd rejects the token that its database contains. ${check.message} Check that ${databaseVariable} points to the database that coderd uses.`;
  return { failed: { kind: "tokenRejected", message } };
}

/** Why the stored token is replaced. */
const faults: Readonly<Record<IssueReason, string>> = {
  missing: "The Secret had no token",
  unknown: "The database does not contain the stored token",
  wrongSecret: "The stored token differs from the token in the database",
  restricted: "The stored token had restricted permissions",
  expired: "The stored token had expired",
  expiring: "The stored token was about to expire",
  requested: "A new token was requested",
  copied: "The stored token belongs to a control plane in another cluster",
};

/** Emits no event for the first token, which is part of a normal start. */
function announce(ref: SecretKey, because: string, { snapshot, environment }: TokenRun): void {
  if (!snapshot.object.status?.operatorTokenSecretRef) return;
  const message = `${because}; stored a new one in Secret "${ref.name}".`;
  environment.own.emit("Normal", "TokenIssued", message);
}
