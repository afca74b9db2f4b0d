import { rateLimitDelay } from "../../coder/rate-limit.ts";
import { messageOf } from "../../runtime/errors.ts";
import { appliedKey, type KeyRecord, recordOf, withRecord } from "./key/record.ts";
import { type Removal, type RemovalRun, removeKey } from "./key/remove.ts";
import type { Environment, Snapshot } from "./observe.ts";

/** How often a busy or stumbling coderd is asked before a key is given up, and the longest wait in between. */
const MOST_TRIES = 3;
const LONGEST_WAIT_MS = 10_000;

/**
 * Deletes at coderd every key that status says was made for this provisioner. Best effort: what fails is told
 * and left behind, because nothing may keep a provisioner from being deleted.
 */
export async function releaseKeys(snapshot: Snapshot, environment: Environment): Promise<void> {
  for (const record of recordedKeys(snapshot)) {
    const problem = await release(record, { snapshot, environment, keepID: undefined });
    if (problem) tell(record, problem, { snapshot, environment });
  }
}

function recordedKeys({ object: { status } }: Snapshot): KeyRecord[] {
  const known = withRecord(status?.retiredKeys ?? [], recordOf(appliedKey(status)));
  return withRecord(known, status?.pendingKey);
}

/** What stands in the way, if anything does. */
async function release(record: KeyRecord, run: RemovalRun): Promise<string | undefined> {
  try {
    const removal = await removePatiently(record, run);
    return removal.outcome === "failed" ? removal.failure.message : undefined;
  } catch (error) {
    return `the operator could not look for a token (${messageOf(error)})`;
  }
}

async function removePatiently(record: KeyRecord, run: RemovalRun): Promise<Removal> {
  const { context, ports } = run.environment;
  for (let attempt = 0; ; attempt++) {
    const removal = await removeKey(record, run);
    if (removal.outcome !== "failed" || attempt + 1 >= MOST_TRIES) return removal;
    if (removal.failure.kind !== "rateLimited") return removal;
    const waitMs = rateLimitDelay(attempt, removal.failure.retryAfterMs, ports.random);
    if (waitMs > LONGEST_WAIT_MS) return removal;
    await context.clock.sleep(waitMs);
  }
}

function tell(
  { name }: KeyRecord,
  problem: string,
  { snapshot, environment }: Omit<RemovalRun, "keepID"> & { snapshot: Snapshot },
): void {
  const { events, log } = environment.context;
  const message = `provisioner key "${name}" stays at coderd, delete it by hand: ${problem}`;
  log.warn("provisioner key was left behind", { key: name, problem });
  events.event(snapshot.object, { type: "Warning", reason: "KeyLeftBehind", message });
}
