import {
  type Caches,
  CONTROLLER_INDEX,
  Ingress,
  type Kind,
  type KubeObject,
  keyOf,
  keyOfObject,
  type Owner,
  type RunContext,
  type Environment as RunEnvironment,
  Secret,
  type Stored,
} from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import { autoscalingDefaults, provisionerDefaults } from "../../api/v1alpha1/defaults.ts";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../api/v1alpha1/kinds.ts";
import type { DatabaseTarget } from "../../coder/operator-access/access.ts";
import { reportsOutage } from "../coderd/failure.ts";
import { CONTROL_PLANE_INDEX } from "../coderd/find-control-plane.ts";
import type { CoderPorts } from "../coderd/ports.ts";
import { type ControlPlane, passwordSecretName, withDefaults } from "../coderd/settings.ts";
import { ENTITY_OBJECTS } from "../inside/object.ts";
import { commonLabels } from "../names.ts";
import { gatherSources, type Sources } from "../sources.ts";
import { namespaceTerminatingSince } from "../terminating-namespace.ts";
import { observeUpgrade, type UpgradeSnapshot } from "../upgrade/observe.ts";
import { HTTPRoute } from "../workload/exposure/gateway.ts";
import {
  observePermissions,
  observePods,
  observeService,
  type PermissionsSnapshot,
  type ServiceSnapshot,
} from "../workload/observe.ts";
import { databaseTarget } from "./database-target.ts";
import type { Memory } from "./memory.ts";
import { findOwnSecret } from "./own-secret.ts";
import { sourceNames } from "./references.ts";
import { controlPlaneGrants, controlPlaneTie } from "./workspace-grants.ts";

/** A control plane in one reconcile: everything that was read from the cluster, and the time. */
export interface Snapshot extends UpgradeSnapshot, ServiceSnapshot, PermissionsSnapshot {
  /** Secrets that the operator created for its token. */
  readonly secrets: readonly Stored<Secret>[];
  /** The object with the name of the Secret for a generated token, regardless of its owner. */
  readonly tokenSecret: Observed<Stored<Secret> | undefined>;
  /** The same for a generated password of the first admin. */
  readonly passwordSecret: Observed<Stored<Secret> | undefined>;
  /** Whether spec.firstAdmin is set and coderd has not reported users yet. */
  readonly awaitsFirstAdmin: boolean;
  /** Whether the control plane has an Ingress or an HTTPRoute. */
  readonly isExposed: boolean;
  /** Whether another object of our kinds refers to this control plane. */
  readonly hasDependents: boolean;
  /** Whether this control plane has provisioners and all of them can scale to zero. */
  readonly poolsCanScaleToZero: boolean;
  /** Whether the queue, a provisioner or a proxy reported that coderd cannot reach its database. */
  readonly suspectsDatabase: boolean;
  /** Secrets and ConfigMaps that the spec refers to. */
  readonly sources: Sources;
  /** The database as coderd's pods connect to it. Files of the URL are read only on connection. */
  readonly databaseAt: (connectionUrl: string) => DatabaseTarget;
}

/** A read that may have failed. If so, the step that needs it fails. */
type Observed<T> = PromiseSettledResult<T>;

export type Environment = RunEnvironment<CoderControlPlane, ControlPlaneStatus, Memory, CoderPorts>;

export async function observe(
  object: Stored<CoderControlPlane>,
  context: RunContext,
  memory: Memory,
): Promise<Snapshot> {
  const { caches } = context;
  const controlPlane = withDefaults(object);
  const { identity } = controlPlane;
  const owner = { kind: CoderControlPlane, object, labels: commonLabels(controlPlane) };
  const awaitsFirstAdmin = controlPlane.firstAdmin !== undefined && !isSettled(object.status);
  const [sources, [tokenSecret, passwordSecret]] = await Promise.all([
    gatherSources(identity.namespace, sourceNames(controlPlane, object), context),
    Promise.allSettled([
      findTokenSecret(controlPlane, context, { owner, memory }),
      findPasswordSecret(controlPlane, context, { owner, memory, awaitsFirstAdmin }),
    ]),
  ]);
  const pools = caches.of(CoderProvisioner).byIndex(CONTROL_PLANE_INDEX, keyOfObject(object));
  const proxies = caches.of(CoderWorkspaceProxy).byIndex(CONTROL_PLANE_INDEX, keyOfObject(object));
  const upgrade = await observeUpgrade(object, controlPlane, context);
  const isNamespaceTerminating = namespaceTerminatingSince(object, caches) !== undefined;
  // In a terminating namespace, dependents that have cleaned up remain until the namespace is gone.
  const entities = ENTITY_OBJECTS.flatMap((kind) =>
    caches.of(kind).byIndex(CONTROL_PLANE_INDEX, keyOfObject(object)),
  );
  const dependents = [...pools, ...proxies, ...entities].filter(
    ({ metadata }) => !isNamespaceTerminating || (metadata.finalizers ?? []).length > 0,
  );
  return {
    object,
    controlPlane,
    ...(await observePods(controlPlane, owner, { context, memory, others: upgrade.imageChecks })),
    ...observeService(controlPlane, context),
    ...(await observePermissions(
      controlPlane,
      { object, owner, tie: controlPlaneTie, wanted: controlPlaneGrants(controlPlane) },
      context,
    )),
    secrets: caches
      .of(Secret)
      .byIndex(CONTROLLER_INDEX, identity.uid)
      .filter(({ metadata }) => metadata.name !== passwordSecretName(identity.name)),
    awaitsFirstAdmin,
    passwordSecret,
    isExposed: [Ingress, HTTPRoute].some((kind) => hasChild(kind, object, caches)),
    tokenSecret,
    hasDependents: dependents.length > 0,
    poolsCanScaleToZero: canScaleToZero(pools),
    suspectsDatabase: [object, ...pools, ...proxies].some(reportsOutage),
    sources,
    databaseAt: (connectionUrl) => databaseTarget(controlPlane, connectionUrl, context),
    upgrade,
  };
}

function canScaleToZero(pools: readonly Stored<CoderProvisioner>[]): boolean {
  const least = ({ spec }: Stored<CoderProvisioner>) =>
    spec?.autoscaling
      ? (spec.autoscaling.minReplicas ?? autoscalingDefaults.minReplicas)
      : (spec?.replicas ?? provisionerDefaults.replicas);
  return pools.length > 0 && pools.every((pool) => least(pool) === 0);
}

/** The Secret for a generated token. */
async function findTokenSecret(
  { operatorAccess, identity: { namespace } }: ControlPlane,
  context: RunContext,
  { owner, memory }: { readonly owner: Owner; readonly memory: Memory },
): Promise<Stored<Secret> | undefined> {
  if (operatorAccess.kind !== "generated") return undefined;
  const { name } = operatorAccess.token;
  return findOwnSecret({ namespace, name }, context, { owner, memory: memory.tokenSecret });
}

interface PasswordSearch {
  readonly owner: Owner;
  readonly memory: Memory;
  readonly awaitsFirstAdmin: boolean;
}

/** The Secret for a generated password. After the user exists, it may be deleted and its name reused. */
async function findPasswordSecret(
  { firstAdmin, identity: { namespace } }: ControlPlane,
  context: RunContext,
  { owner, memory, awaitsFirstAdmin }: PasswordSearch,
): Promise<Stored<Secret> | undefined> {
  if (!firstAdmin?.isGenerated) return undefined;
  const { name } = firstAdmin.password;
  if (awaitsFirstAdmin)
    return findOwnSecret({ namespace, name }, context, { owner, memory: memory.passwordSecret });
  const cached = context.caches.of(Secret).get(keyOf({ namespace, name }));
  return cached && context.children.owns(cached, owner) ? cached : undefined;
}

function isSettled({ firstAdmin }: ControlPlaneStatus = {}): boolean {
  return firstAdmin !== undefined && firstAdmin.state !== "Creating";
}

function hasChild(kind: Kind<KubeObject>, { metadata }: Stored<CoderControlPlane>, caches: Caches): boolean {
  return caches.of(kind).byIndex(CONTROLLER_INDEX, metadata.uid).length > 0;
}
