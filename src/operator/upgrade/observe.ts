import {
  type Backoff,
  type Caches,
  CONTROLLER_INDEX,
  type ConditionState,
  ControllerRevision,
  controllerOf,
  Deployment,
  type Environment,
  type KubeObject,
  keyOf,
  keyOfObject,
  Pod,
  type RunContext,
  type Stored,
} from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../api/v1alpha1/kinds.ts";
import type { AnnouncementStatus, UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import type { CoderClient } from "../../coder/client.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import { tokenName } from "../../coder/operator-access/token.ts";
import { CONTROL_PLANE_INDEX } from "../coderd/find-control-plane.ts";
import type { ControlPlane } from "../coderd/settings.ts";
import { commonLabels, identityOf, selectorOf } from "../names.ts";
import { trimmed } from "../normalize.ts";
import type { PodsSnapshot } from "../workload/observe.ts";
import { POD_OWNER_INDEX } from "../workload/pods/owned-pods.ts";
import { isComplete } from "../workload/pods/rollout.ts";
import { type BackupState, backupOf } from "./backup.ts";
import type { Follower, UpgradeFacts } from "./facts.ts";
import { type FollowerKind, followerKey } from "./followers.ts";
import { imageCheckOwner } from "./image-check.ts";
import { isUpgrading, stages } from "./stages.ts";
import { isSameBuild } from "./versions.ts";

/** Another control plane and the name of its token in the database. */
interface Neighbor {
  readonly name: string;
  readonly tokenName: string;
}

/** Objects that only an upgrade needs, in addition to the snapshot of every reconcile. */
export interface ObservedUpgrade {
  /** Stored pod templates of this control plane. */
  readonly revisions: readonly Stored<ControllerRevision>[];
  /** Existing pods, read from the API server when this is critical. Absent if the cache suffices. */
  readonly podNames: readonly string[] | undefined;
  /** Image check pods, including those of earlier upgrades. */
  readonly imageChecks: readonly Stored<Pod>[];
  /** Reads the state of the backup on demand; a reconcile without an upgrade does not call it. */
  readonly backupOf: (record: UpgradeStatus) => Promise<BackupState>;
  /** In the order of their update. */
  readonly followers: readonly Follower[];
  /**
   * Other control planes in the same namespace, on demand. Other namespaces are excluded, because tenants
   * must not learn about each other from a database that one of them chose.
   */
  readonly others: () => readonly Neighbor[];
}

/** The parts of the snapshot of a control plane that an upgrade needs. */
export interface UpgradeSnapshot extends PodsSnapshot {
  readonly object: Stored<CoderControlPlane>;
  readonly controlPlane: ControlPlane;
  readonly upgrade: ObservedUpgrade;
}

/** Queries of an upgrade to the database and coderd. Each result is a part of the facts. */
export type UpgradeQuestions = Readonly<
  Record<"database" | "builds" | "version", () => Promise<Partial<UpgradeFacts>>>
>;

/** A session with coderd that uses the operator's token. */
export interface UpgradeSession {
  readonly token: string;
  readonly client: () => CoderClient;
}

export interface UpgradeMemory {
  /** Back-off of each part of the announcement. */
  readonly notices: Readonly<Record<keyof AnnouncementStatus, Backoff<CoderFailure>>>;
  /** The last result of the upgrade check. */
  upgradeCheck?: { readonly question: string; readonly at: number; readonly condition: ConditionState };
}

/** The parts of a reconcile of a control plane that an upgrade needs. */
export interface UpgradeRun {
  readonly snapshot: UpgradeSnapshot;
  readonly environment: Pick<
    Environment<CoderControlPlane, ControlPlaneStatus, UpgradeMemory, unknown>,
    "own" | "children" | "memory"
  >;
  readonly ask: UpgradeQuestions;
  /** Absent if the operator has no access to coderd. */
  readonly session: UpgradeSession | undefined;
}

/** Reads the state of the backup. */
export async function askBackup(
  { snapshot }: Pick<UpgradeRun, "snapshot">,
  { record }: Pick<UpgradeFacts, "record">,
): Promise<Partial<UpgradeFacts>> {
  return { backup: record ? await snapshot.upgrade.backupOf(record) : { kind: "none" } };
}

export async function observeUpgrade(
  object: Stored<CoderControlPlane>,
  controlPlane: ControlPlane,
  context: Pick<RunContext, "caches" | "client">,
): Promise<ObservedUpgrade> {
  const { caches, client } = context;
  const record = object.status?.upgrade;
  // A stale cache must not end the wait for the last pod.
  const arePodsEnding = record !== undefined && stages[record.stage].pods === "ending";
  return {
    revisions: caches.of(ControllerRevision).byIndex(CONTROLLER_INDEX, object.metadata.uid),
    imageChecks: caches
      .of(Pod)
      .byIndex(POD_OWNER_INDEX, imageCheckOwner(controlPlane))
      .filter((pod) => controllerOf(pod)?.uid === object.metadata.uid),
    podNames: arePodsEnding ? await runningPods(controlPlane, client) : undefined,
    backupOf: (upgrade) => backupOf(controlPlane, upgrade, context),
    followers: isUpgrading(record) ? followersOf(object, caches) : [],
    others: () => othersThan(object, caches),
  };
}

/**
 * Excludes pods whose processes have ended. Includes pods on a lost node, whose processes may still be
 * running.
 */
async function runningPods(controlPlane: ControlPlane, client: RunContext["client"]): Promise<string[]> {
  const labelSelector = selectorOf(commonLabels(controlPlane));
  const { items } = await client.list(Pod, { namespace: controlPlane.identity.namespace, labelSelector });
  return items
    .filter(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed")
    .map(({ metadata }) => metadata.name);
}

interface WithImage extends KubeObject {
  spec?: { image?: string };
}

function followersOf(controlPlane: Stored<CoderControlPlane>, caches: Caches): Follower[] {
  const index = keyOfObject(controlPlane);
  const provisioners = caches.of(CoderProvisioner).byIndex(CONTROL_PLANE_INDEX, index);
  const proxies = caches.of(CoderWorkspaceProxy).byIndex(CONTROL_PLANE_INDEX, index);
  const deployments = caches.of(Deployment);
  const follower = (kind: FollowerKind) => (object: Stored<WithImage>) => {
    const own = deployments.byIndex(CONTROLLER_INDEX, object.metadata.uid);
    const runs = (image: string) =>
      own.every((each) => isComplete(each) && isSameBuild(imageOf(each), image));
    return { key: followerKey(kind, object.metadata.name), runs };
  };
  const follows = ({ spec, metadata }: Stored<WithImage>) =>
    trimmed(spec?.image) === undefined && metadata.deletionTimestamp === undefined;
  return [
    ...provisioners.filter(follows).map(follower("provisioner")),
    ...proxies.filter(follows).map(follower("workspaceproxy")),
  ].sort((a, b) => (a.key < b.key ? -1 : 1));
}

function imageOf({ spec }: Stored<Deployment>): string {
  return spec?.template.spec?.containers[0]?.image ?? "";
}

function othersThan(object: Stored<CoderControlPlane>, caches: Caches): Neighbor[] {
  const { uid, namespace } = object.metadata;
  return [...caches.of(CoderControlPlane).all()]
    .filter(({ metadata }) => metadata.uid !== uid && metadata.namespace === namespace)
    .map((other) => {
      const identity = identityOf(other);
      return { name: keyOf(identity), tokenName: tokenName(identity) };
    });
}
