import type { Clock } from "kube-controller-runtime";
import { provisionerDefaults } from "../../../api/v1alpha1/defaults.ts";
import type { CoderClient } from "../../../coder/client.ts";
import { type CoderFailure, mayPass } from "../../../coder/failure.ts";
import type { ObservedControlPlane } from "../../control-plane/session/find.ts";
import { openSession, operatorTokenRef, tokenFrom } from "../../control-plane/session/open.ts";
import { clusterURL } from "../../exposure/service.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { type Witness, whyHidden } from "./ask.ts";
import type { KeyRecord } from "./record.ts";

/** What removing a key from coderd came to; it is `absent` when it was not there (any more). */
export type Removal =
  | { readonly outcome: "deleted" | "absent" }
  | {
      readonly outcome: "failed";
      readonly failure: CoderFailure;
      /** Its control plane is gone and no token is left: nothing that the operator could wait for would help. */
      readonly isLost?: boolean;
    };

export interface RemovalRun {
  readonly snapshot: Snapshot;
  readonly environment: Environment;
  /** The key in use, which may have the name of one that never came to be. */
  readonly keepID: string | undefined;
  /** A key that coderd lists to whoever may read keys; none when it is not known. */
  readonly witness: Witness | undefined;
  readonly budget: RemovalBudget;
}

/** No key is begun later, so that a run is over after two minutes. */
const MOST_MS = 100_000;

/**
 * Shared by all removals of one run, so that the number of keys does not decide how long a worker is held: the run has
 * one deadline, and a coderd that gave no usable answer is not asked again.
 */
export class RemovalBudget {
  readonly #clock: Clock;
  readonly #until: number;
  readonly #failures = new Map<string, CoderFailure>();

  /** `until` is for a run that is one of several, which have their deadline in common. */
  constructor(clock: Clock, until = clock.now() + MOST_MS) {
    this.#clock = clock;
    this.#until = until;
  }

  get isSpent(): boolean {
    return this.#clock.now() >= this.#until;
  }

  /** Why the coderd at this URL is not asked again; `undefined` when it may be asked. */
  failureAt(url: string): CoderFailure | undefined {
    return this.#failures.get(url);
  }

  note(url: string, failure: CoderFailure): void {
    if (mayPass(failure)) this.#failures.set(url, failure);
  }
}

/** Deletes a key that status has on record, at whichever coderd has it. Nothing else is ever deleted. */
export async function removeKey(record: KeyRecord, run: RemovalRun): Promise<Removal> {
  const { budget } = run;
  if (budget.isSpent) return { outcome: "failed", failure: outOfTime };
  const sessions = sessionsFor(record, run);
  if (sessions.length === 0)
    return {
      outcome: "failed",
      failure: noCredentials(record),
      isLost: !controlPlaneOf(record, run.snapshot),
    };
  const failures: CoderFailure[] = [];
  for (const { url, clients } of sessions) {
    const failure = budget.failureAt(url);
    const removal: RemovalAt = failure
      ? { outcome: "failed", failure }
      : await removeAt(clients, record, run);
    if (removal.outcome === "failed") {
      budget.note(url, removal.failure);
      failures.push(removal.failure);
    } else if (!removal.elsewhere) return removal;
  }
  const failure = failures.find(mayPass) ?? failures[0];
  return failure ? { outcome: "failed", failure } : { outcome: "absent" };
}

/** The ways to one URL: a client for each token, the likeliest first. */
interface Sessions {
  readonly url: string;
  readonly clients: readonly CoderClient[];
}

/**
 * Every way to a coderd that may have moved or lost its control plane: to where the control plane is now, with every
 * token, and to where the status says it was, with a token that people gave or one that worked there earlier. No status
 * chooses which Secret is read. Empty when no URL or no token is left.
 */
function sessionsFor(record: KeyRecord, { snapshot, environment }: RemovalRun): Sessions[] {
  const { provisioner, sources } = snapshot;
  const { memory, ports } = environment;
  const controlPlane = controlPlaneOf(record, snapshot);
  const own = controlPlane && operatorTokenRef(controlPlane.settings, controlPlane.status);
  const isSpecs = nameOf(record, snapshot) === provisioner.controlPlaneName;
  const given = isSpecs ? provisioner.session : undefined;
  const here = controlPlane && clusterURL(controlPlane.settings, ports.clusterDomain);
  const sessions = [...new Set([here, record.controlPlaneURL])].map((url = "") => {
    const isHere = controlPlane !== undefined && url === here;
    if (url === "" || (isHere && !controlPlane.isServed)) return { url, clients: [] };
    const recipient = isHere ? { controlPlaneUID: controlPlane.settings.identity.uid } : "elsewhere";
    const refs = [given, isHere ? own : undefined].filter((ref) => ref !== undefined);
    const tokens = refs.flatMap((ref) => tokenFrom(ref, sources, recipient).value ?? []);
    const remembered = memory.session?.url === url ? [memory.session.token] : [];
    const clients = [...new Set([...tokens, ...remembered])].map((token) =>
      controlPlane
        ? openSession(controlPlane.settings, { url, token }, { ports, sources })
        : ports.coderd.client({ url, token }),
    );
    return { url, clients };
  });
  return sessions.filter(({ clients }) => clients.length > 0);
}

function controlPlaneOf(record: KeyRecord, snapshot: Snapshot): ObservedControlPlane | undefined {
  return snapshot.controlPlanes.get(nameOf(record, snapshot) ?? "");
}

function nameOf({ controlPlaneRefName }: KeyRecord, { provisioner }: Snapshot): string | undefined {
  return controlPlaneRefName ?? provisioner.controlPlaneName;
}

type RemovalAt = Removal & { readonly elsewhere?: boolean };

/** Tries one token after the other at one URL. A coderd that does not answer is not asked again. */
async function removeAt(
  clients: readonly CoderClient[],
  record: KeyRecord,
  run: RemovalRun,
): Promise<RemovalAt> {
  let last: RemovalAt = { outcome: "failed", failure: noCredentials(record) };
  for (const client of clients) {
    last = await removeWith(client, record, run);
    // Who may not see an organization gets the same answer as where there is none.
    const mayBeSeenByOthers = last.outcome === "failed" ? last.failure.kind === "forbidden" : last.elsewhere;
    if (!mayBeSeenByOthers) return last;
  }
  return last;
}

async function removeWith(
  client: CoderClient,
  record: KeyRecord,
  { keepID, witness }: RemovalRun,
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
  if (!key) {
    const failure = await whyHidden(record, witness, { client, listed: listed.value });
    return failure ? { outcome: "failed", failure } : { outcome: "absent" };
  }
  if (key.id === keepID) return { outcome: "absent" };
  const deleted = await client.deleteProvisionerKey(organization, key.name);
  if (deleted.ok) return { outcome: "deleted" };
  const { failure } = deleted;
  if (failure.kind !== "notFound") return { outcome: "failed", failure };
  const message = `The key is listed, but the token's user may not delete it; use the token of an owner. ${failure.message}`;
  return { outcome: "failed", failure: { kind: "forbidden", why: "notPermitted", message } };
}

const outOfTime: CoderFailure = {
  kind: "transient",
  message: "coderd took too long to delete other keys.",
};

function noCredentials({ name, controlPlaneURL }: KeyRecord): CoderFailure {
  const message = `No token is left for the coderd at ${controlPlaneURL ?? "an unknown URL"} that has key "${name}".`;
  return { kind: "forbidden", why: "unauthenticated", message };
}

/** A key that stays at coderd, and why. */
export interface LeftKey {
  readonly name: string;
  readonly problem: string;
}

/** One event for all: an object may cause only so many, and each could be the one that is dropped. */
export function reportLeft(left: readonly LeftKey[], { log, own }: Pick<Environment, "log" | "own">): void {
  for (const { name, problem } of left) log.warn("provisioner key was left behind", { key: name, problem });
  const names = left.map(({ name }) => `"${name}"`).join(", ");
  const what =
    left.length === 1
      ? `Provisioner key ${names} stays at coderd; delete it by hand.`
      : `Provisioner keys ${names} stay at coderd; delete them by hand.`;
  const problems = new Set(left.map(({ problem }) => problem));
  own.emit("Warning", "KeyLeftBehind", [what, ...problems].join(" "));
}
