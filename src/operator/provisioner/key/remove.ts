import { provisionerDefaults } from "../../../api/v1alpha1/defaults.ts";
import type { CoderClient } from "../../../coder/client.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import type { Environment, Snapshot } from "../observe.ts";
import type { RemovalBudget } from "./budget.ts";
import { formerSessions } from "./former-sessions.ts";
import type { KeyRecord } from "./record.ts";

/** What came of removing a key from coderd. */
export type Removal =
  | { readonly outcome: "deleted" }
  /** It was not there (any more). */
  | { readonly outcome: "absent" }
  | { readonly outcome: "failed"; readonly failure: CoderFailure };

export interface RemovalRun {
  readonly snapshot: Pick<Snapshot, "provisioner">;
  readonly environment: Environment;
  /** The key in use, which may have the name of one that never came to be. */
  readonly keepID: string | undefined;
  readonly budget: RemovalBudget;
}

/** Deletes a key that status has on record, at whichever coderd has it. Nothing else is ever deleted. */
export async function removeKey(record: KeyRecord, run: RemovalRun): Promise<Removal> {
  const { budget } = run;
  if (budget.isSpent) return { outcome: "failed", failure: outOfTime };
  const sessions = await formerSessions(formerCoderd(record, run), run.environment);
  const failures: Removal[] =
    sessions.length > 0 ? [] : [{ outcome: "failed", failure: noCredentials(record) }];
  for (const { url, clients } of sessions) {
    const failure = budget.failureAt(url);
    const removal: RemovalAt = failure
      ? { outcome: "failed", failure }
      : await removeAt(clients, record, run.keepID);
    if (removal.outcome === "failed") {
      budget.note(url, removal.failure);
      failures.push(removal);
    } else if (!removal.elsewhere) return removal;
  }
  return failures[0] ?? { outcome: "absent" };
}

type RemovalAt = Removal & { readonly elsewhere?: boolean };

/** Tries one token after the other at one URL. A coderd that does not answer is not asked again. */
async function removeAt(
  clients: readonly CoderClient[],
  record: KeyRecord,
  keepID: string | undefined,
): Promise<RemovalAt> {
  let last: RemovalAt = { outcome: "failed", failure: noCredentials(record) };
  for (const client of clients) {
    last = await removeWith(client, record, keepID);
    if (last.outcome !== "failed" || last.failure.kind !== "forbidden") return last;
  }
  return last;
}

async function removeWith(
  client: CoderClient,
  record: KeyRecord,
  keepID: string | undefined,
): Promise<RemovalAt> {
  const organization =
    record.organizationID ?? record.organizationName ?? provisionerDefaults.organizationName;
  const listed = await client.provisionerKeys(organization);
  if (!listed.ok) {
    // Organizations have ids of their own everywhere: this is another coderd, or the organization is gone.
    if (listed.failure.kind === "notFound") return { outcome: "absent", elsewhere: true };
    return { outcome: "failed", failure: listed.failure };
  }
  const key = listed.value.find(({ id, name }) => (record.id ? id === record.id : name === record.name));
  if (!key || key.id === keepID) return { outcome: "absent" };
  const deleted = await client.deleteProvisionerKey(organization, key.name);
  if (deleted.ok) return { outcome: "deleted" };
  const { failure } = deleted;
  if (failure.kind !== "notFound") return { outcome: "failed", failure };
  const message = `${failure.message}, though the key is listed: the token's user may not delete it`;
  return { outcome: "failed", failure: { kind: "forbidden", why: "notPermitted", message } };
}

function formerCoderd(record: KeyRecord, { snapshot, environment }: RemovalRun) {
  const { identity, controlPlaneName, session } = snapshot.provisioner;
  const isPresent = (record.controlPlaneRefName ?? controlPlaneName) === controlPlaneName;
  return {
    namespace: identity.namespace,
    controlPlaneName: record.controlPlaneRefName ?? controlPlaneName,
    url: record.controlPlaneURL,
    given: isPresent ? session : undefined,
    remembered: environment.memory.session,
  };
}

const outOfTime: CoderFailure = {
  kind: "transient",
  message: "coderd took too long over other keys",
};

function noCredentials({ name, controlPlaneURL }: KeyRecord): CoderFailure {
  const message = `no token is left for the coderd at ${controlPlaneURL ?? "an unknown URL"} that has key "${name}"`;
  return { kind: "forbidden", why: "unauthenticated", message };
}
