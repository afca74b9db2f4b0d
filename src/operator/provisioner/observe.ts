import {
  type Caches,
  CONTROLLER_INDEX,
  Deployment,
  keyOf,
  type Owner,
  type Pod,
  Role,
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
import { podsOf } from "../workload/pods/our-pods.ts";
import { observeRefusal } from "../workload/pods/refusal.ts";
import { observeWarnings, type PodWarnings } from "../workload/pods/warnings.ts";
import { type ObservedAccount, observeAccount } from "../workload/rbac/ensure-service-account.ts";
import type { Grants } from "../workload/rbac/ensure-workspace-rbac.ts";
import { foreignGrants } from "../workload/rbac/grant-tie.ts";
import { type RemovePod, removeWith } from "../workload/replace-stuck.ts";
import { restartSources } from "../workload/restart.ts";
import { type Admit, admitWith } from "./admit.ts";
import type { Memory } from "./memory.ts";
import { continuing, type Provisioner, withDefaults } from "./spec.ts";
import { provisionerGrants, provisionerTie } from "./workspace-grants.ts";

/** A provisioner in one reconcile: everything that was read from the cluster, and the time. */
export interface Snapshot {
  readonly now: number;
  readonly object: Stored<CoderProvisioner>;
  readonly provisioner: Provisioner;
  readonly owner: Owner;
  /** Existing control planes among those in the spec and in the recorded keys. */
  readonly controlPlanes: ReadonlyMap<string, ObservedControlPlane>;
  /** Secrets of this provisioner, including earlier ones. */
  readonly secrets: readonly Stored<Secret>[];
  /** The Deployment of this provisioner, not a conflicting one with its name. */
  readonly deployment: Stored<Deployment> | undefined;
  readonly pods: readonly Stored<Pod>[];
  readonly removePod: RemovePod;
  readonly warnings: PodWarnings;
  /** Why pods of the newest template are rejected. */
  readonly refusal: string | undefined;
  readonly admit: Admit;
  readonly account: ObservedAccount;
  readonly grants: Grants;
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
  const named = caches.of(Deployment).get(keyOf({ namespace, name: provisioner.childName }));
  const deployment = named && children.owns(named, owner) ? named : undefined;
  const pods = podsOf(provisioner, caches);
  return {
    now: clock.now(),
    object,
    provisioner: continuing(provisioner, object, deployment?.spec?.replicas),
    owner,
    controlPlanes,
    secrets: [...new Set([...(secret && children.owns(secret, owner) ? [secret] : []), ...owned])],
    deployment,
    pods,
    removePod: removeWith(context),
    warnings: await observeWarnings(pods, context, memory),
    refusal: await observeRefusal(deployment, context),
    admit: admitWith(context.client, () => clock.now()),
    account: await observeAccount(provisioner, context),
    grants: {
      object,
      owner,
      identity: provisioner.identity,
      tie: provisionerTie,
      wanted: provisionerGrants(provisioner),
      foreign: foreignGrants(provisionerTie, object, caches),
      isInScope: (other) => caches.of(Role).covers(other),
    },
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
