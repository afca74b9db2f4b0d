import { type BackedOff, findCondition, type Stored } from "kube-controller-runtime";
import type { CoderControlPlane } from "../../../api/v1alpha1/kinds.ts";
import { isCopiedToken } from "../../../coder/operator-access/token.ts";
import { type AccessFailure, isAboutDatabase, isWithoutDatabase } from "../../coderd/access-failure.ts";
import { generatedTokenName, withDefaults } from "../../coderd/settings.ts";
import { databaseVariable } from "../references.ts";
import { conditionTypes } from "../status.ts";
import { coderdClient, type TokenRun } from "./check.ts";
import { connectionUrl, databaseAttempt, withHost } from "./database.ts";
import { ownTokens, removeTokenSecrets } from "./secret.ts";

/**
 * Whether the operator may have created a token for the control plane that was not revoked, based on its
 * object.
 */
export function mayHoldToken(object: Stored<CoderControlPlane>): boolean {
  const { operatorAccess, pod } = withDefaults(object);
  if (recordsGeneratedName(object) || neededDatabase(object)) return true;
  if (operatorAccess.kind !== "generated") return false;
  return pod.envFrom.length > 0 || pod.extraEnv.some(({ name }) => name === databaseVariable);
}

/** Whether a token has existed, based on the object, its Secrets and this process. */
export function knowsToken({ snapshot, environment }: Pick<TokenRun, "snapshot" | "environment">): boolean {
  const { object } = snapshot;
  if (ownTokens(snapshot).length > 0 || environment.memory.goodToken !== undefined) return true;
  return object.status?.operatorAccessReady === true && recordsGeneratedName(object);
}

/**
 * Whether the last status was written with a generated token. A provided Secret is not evidence, even if it
 * has the name of the generated one.
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
 * Revokes the generated token and then deletes its Secret. Either the Secret, which may have been deleted, or
 * the status indicates a token to revoke. Resolves with the reason for a failure, or undefined if there is no
 * such token anymore.
 */
export async function withdrawToken(run: TokenRun): Promise<BackedOff<AccessFailure> | undefined> {
  const { snapshot, environment } = run;
  const { memory, own } = environment;
  if (snapshot.secrets.length === 0 && !hadToken(snapshot.object)) return undefined;
  const left = await revokeToken(run);
  if (left && !isWithoutDatabase(left.failure)) return left;
  await removeTokenSecrets(run);
  delete memory.goodToken;
  // Until the status is written, it still indicates a token to revoke.
  memory.nextReport = { at: snapshot.now, awaitsReport: false };
  if (left) {
    const message = `Deleted the Secret of the generated token, which could not be revoked; delete the tokens of the operator's user in coderd. ${left.failure.message}`;
    own.emit("Warning", "TokenNotRevoked", message);
  } else own.emit("Normal", "TokenRevoked", "Revoked the generated token and deleted its Secret.");
  return undefined;
}

/**
 * Revokes the generated token: all tokens of the control plane in the database or, if the database is
 * unreachable, the stored token through coderd's API, authenticated by the token itself. Resolves with the
 * reason if neither is possible.
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

/**
 * A token that coderd no longer accepts counts as revoked. A copy of another cluster's token must not be
 * revoked.
 */
async function revokeAtCoderd(run: TokenRun): Promise<boolean> {
  if (!run.serviceSelectsPods) return false;
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
