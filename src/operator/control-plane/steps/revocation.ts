import { findCondition, type Stored } from "kube-controller-runtime";
import type { CoderControlPlane } from "../../../api/v1alpha1/kinds.ts";
import { failed, type Result as Outcome, succeeded } from "../../../coder/result.ts";
import { leadsToOurPods } from "../../exposure/own-service.ts";
import { coderdClient } from "../coderd.ts";
import { databaseVariable } from "../references.ts";
import { generatedTokenName, withDefaults } from "../spec.ts";
import { conditionTypes } from "../status.ts";
import { type AccessProblem, atDatabase, databaseProblem, isAboutDatabase, type Run } from "./database.ts";
import { ownedTokens } from "./token-store.ts";

/** Whether the operator may have made a token for a control plane that is not revoked yet, as its object tells. */
export function mayHoldToken(object: Stored<CoderControlPlane>): boolean {
  const { operatorAccess, pod } = withDefaults(object);
  if (recordsGeneratedName(object) || neededDatabase(object)) return true;
  if (operatorAccess.kind !== "generated") return false;
  return pod.envFrom.length > 0 || pod.extraEnv.some(({ name }) => name === databaseVariable);
}

/**
 * Whether the last report is of a control plane for which the operator made its token itself. A Secret that is given
 * says nothing about that, also when it has the name of the generated one.
 */
export function hadToken(object: Stored<CoderControlPlane>): boolean {
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
 * Ends the token that the operator made for itself: all that the database has for the control plane, or, where the
 * database can't be reached, the one that is stored, by coderd's API and with that very token.
 */
export async function revokeToken(run: Run): Promise<Outcome<void, AccessProblem>> {
  const { ports } = run.environment;
  const atSource = await atDatabase(run, ["revoke"], async (target) => {
    const result = await ports.database.revokeToken(target);
    return result.ok ? succeeded(undefined) : failed(databaseProblem(result.failure));
  });
  if (atSource.ok) return atSource;
  return (await revokeAtCoderd(run)) ? succeeded(undefined) : atSource;
}

/** A token that coderd does not accept (any more) is as good as revoked. */
async function revokeAtCoderd(run: Run): Promise<boolean> {
  if (!leadsToOurPods(run.snapshot.controlPlane, run.environment.context.caches)) return false;
  const tokens = ownedTokens(run);
  for (const token of tokens) {
    const client = await coderdClient(run.snapshot.controlPlane, token, run.environment);
    const [id = ""] = token.split("-");
    const deleted = await client.deleteToken(id);
    if (deleted.ok || deleted.failure.kind === "notFound") continue;
    const { failure } = deleted;
    if (failure.kind !== "forbidden" || failure.why !== "unauthenticated") return false;
  }
  return tokens.length > 0;
}
