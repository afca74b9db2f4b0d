import type { Changes, Progress, Secret, Stored } from "kube-controller-runtime";
import type { CoderProvisioner } from "../../../api/v1alpha1/kinds.ts";
import type { ProvisionerStatus } from "../../../api/v1alpha1/provisioner.ts";
import type { CoderClient } from "../../../coder/client.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import type { DaemonSight } from "../../daemons/observer.ts";
import type { Environment, Snapshot } from "../observe.ts";
import type { CoderdKeys, WantedKey } from "./plan.ts";
import { appliedKey } from "./record.ts";

/** All that a run knows of the key; every act gives back the next state. */
export interface KeyState {
  /** With the status as last written. */
  readonly object: Stored<CoderProvisioner>;
  /** What the status does not have yet. A run that dies with it loses nothing: the next finds it out again. */
  readonly unwritten: Changes<ProvisionerStatus>;
  readonly secrets: readonly Stored<Secret>[];
  readonly coderd: CoderdKeys | undefined;
  /** Whether object and secrets are what the API server says, not the caches. */
  readonly isFresh: boolean;
  /** A key was made in this run. One is enough: what coderd says against it is for a person to read. */
  readonly hasMade: boolean;
  /** coderd was asked in this run about a key that it does not list, and does not vouch for it. */
  readonly isDisowned: boolean;
}

export interface KeyRun {
  readonly snapshot: Snapshot;
  readonly environment: Environment;
  readonly wanted: WantedKey;
  readonly client: CoderClient;
  /** Which daemons the organization of the key has. */
  readonly observeDaemons: (organizationId: string) => Promise<DaemonSight>;
  /** Whether it is time to compare with coderd, even if nothing has changed here. */
  readonly isCheckDue: boolean;
}

export type KeyProgress = Progress<KeyState, CoderFailure>;

/** The status as it will be when all is written. */
export function statusOf({
  object,
  unwritten,
}: Pick<KeyState, "object" | "unwritten">): Partial<ProvisionerStatus> {
  return { ...object.status, ...unwritten } as Partial<ProvisionerStatus>;
}

/** Records changes of the status now, with all that was left for later. */
export async function recordNow(
  state: KeyState,
  { environment }: Pick<KeyRun, "environment">,
  changes: (current: Partial<ProvisionerStatus>) => Changes<ProvisionerStatus>,
  { exact = false } = {},
): Promise<KeyProgress> {
  const all = (current: Partial<ProvisionerStatus>) => {
    const known = { ...current, ...state.unwritten } as Partial<ProvisionerStatus>;
    return { ...state.unwritten, ...changes(known) };
  };
  const object = await environment.own.record(all, { exact });
  return object ? { next: { ...state, object, unwritten: {} } } : { overtaken: true };
}

/** Leaves it to the end of the run to write a status that is found out again should the run not get there. */
export function recordLater(state: KeyState, changes: Changes<ProvisionerStatus>): KeyProgress {
  return { next: { ...state, unwritten: { ...state.unwritten, ...changes } } };
}

/** The state as the API server has it. */
export async function refresh(
  state: KeyState,
  { snapshot, environment, wanted }: KeyRun,
): Promise<KeyProgress> {
  const { children, own } = environment;
  const recorded = appliedKey(own.latest.status).secretRef?.name;
  const cached = state.secrets.map(({ metadata }) => metadata.name);
  const fresh = await own.readAnew([wanted.secretRef.name, ...(recorded ? [recorded] : []), ...cached]);
  if (!fresh) return { overtaken: true };
  const secrets = fresh.secrets.filter((secret) => children.owns(secret, snapshot.owner));
  return { next: { ...state, object: fresh.object, unwritten: {}, secrets, isFresh: true } };
}
