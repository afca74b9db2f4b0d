import { type BackedOff, findCondition, Secret, type Stored } from "kube-controller-runtime";
import type { CoderControlPlane } from "../../../api/v1alpha1/kinds.ts";
import { isCopiedToken } from "../../../coder/operator-access/token.ts";
import { type AccessFailure, isAboutDatabase, isWithoutDatabase } from "../../coderd/access-failure.ts";
import { generatedTokenName, withDefaults } from "../../coderd/settings.ts";
import { databaseVariable } from "../references.ts";
import { conditionTypes } from "../status.ts";
import { coderdClient, type TokenRun } from "./check.ts";
import { connectionUrl, databaseAttempt, withHost } from "./database.ts";
import { ownTokens } from "./secret.ts";

/** Whether the operator may have made a token for a control plane that is not revoked yet, by what its object says. */
export function mayHoldToken(object: Stored<CoderControlPlane>): boolean {
  const { operatorAccess, pod } = withDefaults(object);
  if (recordsGeneratedName(object) || neededDatabase(object)) return true;
  if (operatorAccess.kind !== "generated") return false;
  return pod.envFrom.length > 0 || pod.extraEnv.some(({ name }) => name === databaseVariable);
}

/** Whether there was a token at any time, as far as the object, its Secrets and this process know. */
export function knowsToken({ snapshot, environment }: Pick<TokenRun, "snapshot" | "environment">): boolean {
  const { object } = snapshot;
  if (ownTokens(snapshot).length > 0 || environment.memory.goodToken !== undefined) return true;
  return object.status?.operatorAccessReady === true && recordsGeneratedName(object);
}

/**
 * Whether the last report is of a control plane for which the operator made its token itself. A Secret that is given
 * says nothing about that, also when it has the name of the generated one.
 */
function hadToken(object: Stored<CoderControlPlane>): boolean {
  const { operatorAccess } = withDefaults(object);
  const recorded = object.status?.operatorTokenSecretRef?.name;
  const isGiven = operatorAccess.kind === "given" && operatorAccess.token.name === recorded;
  return (!isGiven && recordsGeneratedName(object)) || neededDatabase(object);
}

function recordsGeneratedName({ metadata, spec, status }: Stored<CoderControlPlane>): boolean {
  const recorded = status?.operatorTokenSecretRef?.name;
  return recorded === generatedTokenName(spec?.operatorAccess, metadata.name);
}

function neededDatabase({ status }: Stored<CoderControlPlane>): boolean {
  const reason = findCondition(status?.conditions, conditionTypes.access)?.reason;
  return reason !== undefined && isAboutDatabase(reason);
}

/**
 * Revokes the token that the operator made earlier, and then removes its Secret. Either is a mark that there is
 * something to revoke: the Secret, which somebody may have deleted, and the status. Resolves with why that failed;
 * with nothing when there is no such token (any more).
 */
export async function withdrawToken(run: TokenRun): Promise<BackedOff<AccessFailure> | undefined> {
  const { snapshot, environment } = run;
  const { children, memory, own } = environment;
  if (snapshot.secrets.length === 0 && !hadToken(snapshot.object)) return undefined;
  const left = await revokeToken(run);
  if (left && !isWithoutDatabase(left.failure)) return left;
  await children.converge(Secret, [], snapshot.owner);
  delete memory.goodToken;
  // Until the status is written, it says that there is a token to revoke.
  memory.nextReport = { at: snapshot.now, awaitsReport: false };
  if (left) {
    const message = `Deleted the Secret of the generated token, which could not be revoked; delete the tokens of the operator's user in coderd. ${left.failure.message}`;
    own.emit("Warning", "TokenNotRevoked", message);
  } else own.emit("Normal", "TokenRevoked", "Revoked the generated token and deleted its Secret.");
  return undefined;
}

/**
 * Ends the token that the operator made for itself: all that the database has for the control plane, or, where the
 * database can't be reached, the one that is stored, by coderd's API and with that very token. Resolves with why
 * neither was possible.
 */
export async function revokeToken(run: TokenRun): Promise<BackedOff<AccessFailure> | undefined> {
  const { revocation } = run.environment.memory;
  const attempt = databaseAttempt(run.snapshot, []);
  const backedOff = revocation.current(attempt);
  const failure = backedOff ? backedOff.failure : await revokeAtDatabase(run);
  if (!failure || (await revokeAtCoderd(run))) {
    revocation.end();
    return undefined;
  }
  return backedOff ?? revocation.begin(failure, attempt);
}

async function revokeAtDatabase(run: TokenRun): Promise<AccessFailure | undefined> {
  const { snapshot, environment } = run;
  const url = connectionUrl(snapshot);
  if (!url.ok) return url.failure;
  const target = snapshot.databaseAt(url.value);
  const revoked = await environment.ports.database.revokeToken(target, ownTokens(snapshot));
  return revoked.ok ? undefined : withHost(revoked.failure, run, url.value);
}

/** A token that coderd does not accept (any more) is as good as revoked. The copy of another cluster's is not ours to end. */
async function revokeAtCoderd(run: TokenRun): Promise<boolean> {
  if (!run.isServed) return false;
  const { uid } = run.snapshot.controlPlane.identity;
  const tokens = ownTokens(run.snapshot).filter((token) => !isCopiedToken(token, uid));
  for (const token of tokens) {
    const [id = ""] = token.split("-");
    const deleted = await coderdClient(token, run).deleteToken(id);
    if (deleted.ok || deleted.failure.kind === "notFound") continue;
    const { failure } = deleted;
    if (failure.kind !== "forbidden" || failure.why !== "unauthenticated") return false;
  }
  return tokens.length > 0;
}
