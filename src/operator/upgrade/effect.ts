import {
  ApiError,
  ControllerRevision,
  type Effect,
  isAlreadyExists,
  isNotFound,
  Job,
  type KubeObject,
  mergePatchBetween,
  type Needs,
  Pod,
  type Progress,
} from "kube-controller-runtime";
import type { UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import { announce } from "./announce/announce.ts";
import { type BackupObject, type BackupState, backupName, missing } from "./backup.ts";
import type { UpgradeFacts } from "./facts.ts";
import { type ImageCheck, imageCheckPod, pullsImage, refusedCheck } from "./image-check.ts";
import { leftoversOf } from "./leftovers.ts";
import { askBackup, type UpgradeRun } from "./observe.ts";
import { planUpgrade } from "./plan.ts";
import { type PodTemplate, previousTemplate, templateOf } from "./previous-template.ts";
import { announceStage } from "./report.ts";
import { reachedState } from "./stages.ts";
import { mayStartOther, type Rest, type UpgradePlan } from "./transitions.ts";

/** State of an upgrade in a reconcile. */
export interface UpgradeState {
  readonly facts: UpgradeFacts;
  /** The previous pod template, if this reconcile stored it. */
  readonly template?: PodTemplate | undefined;
  /** Whether the record is known to match the API server. */
  readonly isFresh: boolean;
}

/** Missing responses are facts as well, so an action of an upgrade fails only by an exception. */
type Step = Promise<Progress<UpgradeState, never>>;

const needs: Readonly<Record<Exclude<UpgradePlan["do"], "rest">, Needs>> = {
  ask: { external: true },
  remember: {},
  announce: { external: true },
  backUp: {},
  checkImage: {},
  record: {},
};

/** Advances an upgrade of a control plane as far as possible. */
export function upgradeEffect(run: UpgradeRun): Effect<UpgradeState, UpgradePlan, never> {
  return {
    plan: ({ facts }) => planUpgrade(facts),
    needs: (plan, state) => (plan.do === "rest" ? atRest(plan, state, run) : needs[plan.do]),
    refresh: (state) => refresh(state, run),
    act: async (plan, state) => {
      switch (plan.do) {
        case "rest":
          return { next: state };
        case "ask":
          return learned(
            state,
            plan.source === "backup" ? await askBackup(run, state.facts) : await run.ask[plan.source](),
          );
        case "remember":
          return remember(state, run);
        case "announce":
          return (await announce(run, state.facts.record))
            ? learned(state, { isAnnounced: true })
            : { overtaken: true };
        case "backUp":
          return backUp(state, run);
        case "checkImage":
          return learned(state, { image: await startImageCheck(state.facts, run) });
        case "record":
          return record(plan.record, state, run);
      }
    },
  };
}

/**
 * An outdated record must not start pods of a version whose upgrade has since ended, or delete the previous
 * pod template.
 */
function atRest({ shape }: Rest, { facts, isFresh }: UpgradeState, { snapshot }: UpgradeRun): Needs {
  const { revisions, imageChecks } = leftoversOf(facts.record, snapshot);
  const removes = revisions.length + imageChecks.length > 0;
  return !isFresh && (removes || mayStartOther(shape, facts)) ? { irreversible: true } : "nothing";
}

/** Continues only if neither the record nor the spec has changed. */
async function refresh(state: UpgradeState, { environment: { own } }: UpgradeRun): Step {
  const { image } = own.latest.status ?? {};
  const fresh = await own.readUncached([]);
  const { status = {} } = fresh?.object ?? {};
  const isSeen = fresh && status.image === image && isSame(status.upgrade, state.facts.record);
  return isSeen ? { next: { ...state, isFresh: true } } : { overtaken: true };
}

function learned(state: UpgradeState, more: Partial<UpgradeFacts>): Progress<UpgradeState, never> {
  return { next: { ...state, facts: { ...state.facts, ...more } } };
}

/**
 * The template is stored before its name is recorded, so a recorded name always refers to an existing object.
 */
async function remember(state: UpgradeState, run: UpgradeRun): Step {
  const { snapshot, environment } = run;
  const { record: current } = state.facts;
  if (!snapshot.deployment || !current)
    throw new TypeError("the pod template is stored only if a Deployment exists");
  const revision = previousTemplate(snapshot.controlPlane, snapshot.deployment);
  const kept = await environment.children.apply(ControllerRevision, revision, snapshot.owner);
  const next = { ...state, template: templateOf(kept), facts: { ...state.facts, isKept: true } };
  return record({ ...current, previous: kept.metadata.name }, next, run);
}

async function backUp(state: UpgradeState, run: UpgradeRun): Step {
  const { snapshot } = run;
  const { backup, record: current, settings } = state.facts;
  if (backup?.kind !== "absent" || !current || !settings.backup)
    throw new TypeError("a backup is created only if it is requested and missing");
  const name = backupName(snapshot.controlPlane, current);
  const recorded = await record({ ...current, backup: name }, state, run);
  if (!("next" in recorded)) return recorded;
  return learned(recorded.next, { backup: await create(backup.wanted, missing(settings.backup), run) });
}

/**
 * An earlier run may have created the pod. A rejection is reported, because the old version is still
 * available.
 */
async function startImageCheck(
  { record: current }: UpgradeFacts,
  { snapshot, environment }: UpgradeRun,
): Promise<ImageCheck> {
  if (!current) throw new TypeError("an image is checked only during an upgrade");
  const pod = imageCheckPod(snapshot.controlPlane, current);
  try {
    await environment.children.create(Pod, pod, snapshot.owner);
  } catch (error) {
    if (isRefused(error)) return refusedCheck(error.message, current.to);
    if (!isAlreadyExists(error)) throw error;
  }
  return { kind: "running", message: pullsImage(pod.metadata?.name) };
}

/** Rejected by a quota, Pod Security, a webhook or RBAC, or because the pod is invalid. */
function isRefused(error: unknown): error is ApiError {
  return error instanceof ApiError && [400, 403, 422].includes(error.code);
}

async function create(
  { kind, object }: BackupObject,
  unavailable: string,
  { snapshot, environment }: UpgradeRun,
): Promise<BackupState> {
  const what = `${kind.kind} "${object.metadata?.name}"`;
  try {
    // A Backup must outlive its control plane; the Job may be deleted with it.
    const outlives = kind !== Job;
    await environment.children.create<KubeObject>(kind, object, { ...snapshot.owner, outlives });
    environment.own.emit("Normal", "BackupStarted", `Started ${what} before the upgrade.`);
  } catch (error) {
    if (isNotFound(error)) return { kind: "unavailable", message: unavailable };
    // An earlier run created it without receiving the response.
    if (!isAlreadyExists(error)) throw error;
  }
  return { kind: "running", what };
}

/**
 * A stage starts only after the status contains it. Facts from the previous stage are queried again. Does not
 * change a record that another process has changed, because that process has newer information.
 */
async function record(next: UpgradeStatus | undefined, state: UpgradeState, run: UpgradeRun): Step {
  const { facts } = state;
  const { own } = run.environment;
  const isNewStage = next?.stage !== facts.record?.stage;
  const brought = isNewStage ? reachedState(next) : undefined;
  let isOurs = true;
  const written = await own.record(({ upgrade }) => {
    isOurs = isSame(upgrade, facts.record) || isSame(upgrade, next);
    return isOurs ? { upgrade: next, ...brought } : {};
  });
  if (!written || !isOurs) return { overtaken: true };
  if (isNewStage) announceStage(next, facts, own);
  const asked = isNewStage ? { database: undefined, backup: undefined, reported: undefined } : {};
  const reached = brought ? { settled: brought.image, version: brought.version } : {};
  const kept = next?.previous === undefined ? { isKept: false } : {};
  const learnt = { ...facts, ...asked, ...reached, ...kept, record: next };
  return { next: { ...state, facts: learnt, isFresh: true } };
}

function isSame(left: unknown, right: unknown): boolean {
  return Object.keys(mergePatchBetween({ upgrade: left }, { upgrade: right })).length === 0;
}
