import {
  type Caches,
  CONTROLLER_INDEX,
  keyOf,
  type RunContext,
  type Environment as RunEnvironment,
  Secret,
  type Stored,
} from "kube-controller-runtime";
import { CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import type { ProvisionerStatus } from "../../api/v1alpha1/provisioner.ts";
import { type ObservedControlPlane, observeControlPlane } from "../coderd/find-control-plane.ts";
import type { CoderPorts } from "../coderd/ports.ts";
import { sessionSources } from "../coderd/session.ts";
import { commonLabels } from "../names.ts";
import { gatherSources, referencesTo, type SourceNames, type Sources } from "../sources.ts";
import {
  observePermissions,
  observePods,
  type PermissionsSnapshot,
  type PodsSnapshot,
} from "../workload/observe.ts";
import { restartSources } from "../workload/restart.ts";
import { type Admit, admitWith } from "./admit.ts";
import type { Memory } from "./memory.ts";
import { continuing, type Provisioner, withDefaults } from "./spec.ts";
import { provisionerGrants, provisionerTie } from "./workspace-grants.ts";

/** A provisioner in one reconcile: everything that was read from the cluster, and the time. */
export interface Snapshot extends PodsSnapshot, PermissionsSnapshot {
  readonly object: Stored<CoderProvisioner>;
  readonly provisioner: Provisioner;
  /** Existing control planes among those in the spec and in the recorded keys. */
  readonly controlPlanes: ReadonlyMap<string, ObservedControlPlane>;
  /** Secrets of this provisioner, including earlier ones. */
  readonly secrets: readonly Stored<Secret>[];
  readonly admit: Admit;
  /** Secrets that sessions with these control planes need. */
  readonly sources: Sources;
}

export type Environment = RunEnvironment<CoderProvisioner, ProvisionerStatus, Memory, CoderPorts>;

export async function observe(
  object: Stored<CoderProvisioner>,
  context: RunContext,
  memory: Memory,
): Promise<Snapshot> {
  const { caches, children, clock } = context;
  const provisioner = withDefaults(object);
  const { namespace } = provisioner.identity;
  const owner = { kind: CoderProvisioner, object, labels: commonLabels(provisioner) };
  const controlPlanes = namedControlPlanes(object, caches);
  const sources = await gatherSources(namespace, sourceNames(object, controlPlanes), context);
  const secrets = caches.of(Secret);
  const secret = secrets.get(keyOf({ namespace, name: provisioner.key.secret.name }));
  const owned = secrets.byIndex(CONTROLLER_INDEX, object.metadata.uid);
  const pods = await observePods(provisioner, owner, { context, memory });
  return {
    object,
    provisioner: continuing(provisioner, object, pods.deployment?.spec?.replicas),
    ...pods,
    ...(await observePermissions(
      provisioner,
      { object, owner, tie: provisionerTie, wanted: provisionerGrants(provisioner) },
      context,
    )),
    controlPlanes,
    secrets: [...new Set([...(secret && children.owns(secret, owner) ? [secret] : []), ...owned])],
    admit: admitWith(context.client, () => clock.now()),
    sources,
  };
}

type ControlPlanes = ReadonlyMap<string, ObservedControlPlane>;

/** Existing control planes in the spec and in all recorded keys, by name. */
function namedControlPlanes(object: Stored<CoderProvisioner>, caches: Caches): ControlPlanes {
  const { controlPlaneName, identity } = withDefaults(object);
  const { status = {} } = object;
  const keys = [...(status.retiredKeys ?? []), status, ...(status.pendingKey ? [status.pendingKey] : [])];
  const recorded = keys.map(({ controlPlaneRefName }) => controlPlaneRefName);
  const found = [...new Set([controlPlaneName, ...recorded])].flatMap((name = "") => {
    const observed = observeControlPlane({ namespace: identity.namespace, name }, caches);
    return observed ? [[name, observed] as const] : [];
  });
  return new Map(found);
}

/** Objects that sessions with these control planes need, and those that restart pods. */
function sourceNames(object: Stored<CoderProvisioner>, controlPlanes: ControlPlanes): SourceNames {
  const { session, pod } = withDefaults(object);
  const needed = [...controlPlanes.values()].map(sessionSources);
  const restarting = restartSources(pod, object);
  return {
    tokens: [...(session ? [session.name] : []), ...needed.flatMap(({ tokens }) => [...tokens])],
    secrets: [...needed, restarting].flatMap(({ secrets }) => [...secrets]),
    configMaps: [...needed, restarting].flatMap(({ configMaps }) => [...configMaps]),
  };
}

export const references = referencesTo((object: Stored<CoderProvisioner>, caches) =>
  sourceNames(object, namedControlPlanes(object, caches)),
);
