import {
  Deployment,
  type Kind,
  keyOf,
  type Owner,
  type Pod,
  Role,
  type RunContext,
  Service,
  type Stored,
} from "kube-controller-runtime";
import type { Parent } from "../names.ts";
import type { Exposed } from "./exposure/expose.ts";
import { missingGatewayKind } from "./exposure/gateway.ts";
import { ingressClasses } from "./exposure/ingress-class.ts";
import { podsOf } from "./pods/owned-pods.ts";
import { observeRefusal } from "./pods/refusal.ts";
import { observeWarnings, type PodWarnings, type WarningMemory } from "./pods/warnings.ts";
import { type ObservedAccount, observeAccount } from "./rbac/ensure-service-account.ts";
import type { Grants } from "./rbac/ensure-workspace-rbac.ts";
import { foreignGrants } from "./rbac/grant-tie.ts";
import type { Builder } from "./rbac/settings.ts";
import { type RemovePod, removeWith } from "./replace-stuck.ts";

/* Parts of the snapshots of several kinds. */

/** An object of ours with pods. */
type Runner = Parent & { readonly childName: string };

/** The pods of an object, and why they fail. */
export interface PodsSnapshot {
  readonly now: number;
  readonly owner: Owner;
  /** The Deployment of this object, not a conflicting one with its name. */
  readonly deployment: Stored<Deployment> | undefined;
  readonly pods: readonly Stored<Pod>[];
  readonly removePod: RemovePod;
  readonly warnings: PodWarnings;
  /** Why pods of the newest template are rejected. */
  readonly refusal: string | undefined;
}

/** `others` are further pods whose events matter. */
export async function observePods(
  runner: Runner,
  owner: Owner,
  observing: {
    readonly context: RunContext;
    readonly memory: WarningMemory;
    readonly others?: readonly Stored<Pod>[];
  },
): Promise<PodsSnapshot> {
  const { context, memory, others = [] } = observing;
  const { caches, children, clock } = context;
  const named = caches.of(Deployment).get(childKey(runner));
  const deployment = named && children.owns(named, owner) ? named : undefined;
  const pods = podsOf(runner, caches);
  return {
    now: clock.now(),
    owner,
    deployment,
    pods,
    removePod: removeWith(context),
    warnings: await observeWarnings([...pods, ...others], context, memory),
    refusal: await observeRefusal(deployment, context),
  };
}

/** How an object is reached. */
export interface ServiceSnapshot {
  /** The Service with the name of this object's, regardless of its owner. */
  readonly service: Stored<Service> | undefined;
  /** A kind of the Gateway API that the spec needs and the cluster lacks. */
  readonly missingGatewayKind: Kind | undefined;
  /** Names of the ingress classes. Absent if the operator is not permitted to read them. */
  readonly ingressClasses: readonly string[] | undefined;
}

export function observeService(
  runner: Runner & Pick<Exposed, "exposure">,
  { caches }: Pick<RunContext, "caches">,
): ServiceSnapshot {
  return {
    service: caches.of(Service).get(childKey(runner)),
    missingGatewayKind: missingGatewayKind(runner.exposure, caches),
    ingressClasses: ingressClasses(caches),
  };
}

/** The permissions that pods have for workspaces. */
export interface PermissionsSnapshot {
  readonly account: ObservedAccount;
  readonly grants: Grants;
}

export async function observePermissions(
  builder: Builder,
  granting: Pick<Grants, "object" | "owner" | "tie" | "wanted">,
  context: RunContext,
): Promise<PermissionsSnapshot> {
  const { caches } = context;
  return {
    account: await observeAccount(builder, context),
    grants: {
      ...granting,
      identity: builder.identity,
      foreign: foreignGrants(granting.tie, granting.object, caches),
      isInScope: (other) => caches.of(Role).covers(other),
    },
  };
}

function childKey({ identity: { namespace }, childName: name }: Runner) {
  return keyOf({ namespace, name });
}
