import {
  type Kind,
  type KubeObject,
  keyOfObject,
  type ObjectKey,
  type Stored,
} from "kube-controller-runtime";
import type { Condition } from "../../api/v1alpha1/common.ts";
import type { LicenseStatus } from "../../api/v1alpha1/control-plane.ts";
import { controlPlaneDefaults, workspaceProxyDefaults } from "../../api/v1alpha1/defaults.ts";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../api/v1alpha1/kinds.ts";
import { namedControlPlane } from "../coderd/find-control-plane.ts";
import { ENTITY_OBJECTS, type EntityObject } from "../inside/object.ts";
import { isPaused } from "../pause.ts";
import { withDefaults as provisionerWithDefaults } from "../provisioner/spec.ts";

/** Properties of an object for metrics, from its spec and status. */
export interface Facts {
  readonly phase: string;
  readonly conditions: readonly Condition[];
  readonly paused: boolean;
  /** Absent for an object without pods. */
  readonly readyReplicas?: number | undefined;
  readonly desiredReplicas?: number | undefined;
  readonly licenseTier?: string | undefined;
  readonly license?: LicenseStatus | undefined;
  /** URL of the coderd that this object runs. */
  readonly url?: string | undefined;
  /** Secret with the operator's token. */
  readonly tokenSecret?: string | undefined;
  /** Expiration of the provided token. */
  readonly givenTokenExpires?: string | undefined;
  /** Stage of an upgrade, and since when in milliseconds. */
  readonly upgrade?: { readonly stage: string; readonly since: number } | undefined;
  /** The current provisioner key, and the coderd that has it. */
  readonly key?: { readonly url: string; readonly id: string } | undefined;
  /** The control plane whose queues contain the builds of a provisioner, or the control plane itself. */
  readonly queueOf?: ObjectKey | undefined;
}

/** A kind with a function to read its objects. */
export interface MeasuredKind {
  readonly kind: Kind;
  readonly facts: (object: Stored<KubeObject>) => Facts;
}

/** The kinds with metrics. */
export const measuredKinds: readonly MeasuredKind[] = [
  measured(CoderControlPlane, ({ metadata, spec, status }) => ({
    ...common(status),
    desiredReplicas: spec?.replicas ?? controlPlaneDefaults.replicas,
    licenseTier: status?.licenseTier,
    license: status?.license,
    url: status?.url,
    tokenSecret: status?.operatorTokenSecretRef?.name,
    givenTokenExpires: status?.operatorTokenExpires,
    queueOf: keyOfObject({ metadata }),
    upgrade: upgradeOf(status),
  })),
  measured(CoderProvisioner, (object) => ({
    ...common(object.status),
    // With autoscaling, the number that the queue requires.
    desiredReplicas: provisionerWithDefaults(object).replicas,
    key: keyOf(object.status),
    givenTokenExpires: object.status?.bootstrapTokenExpires,
    queueOf: namedControlPlane(object)[0],
  })),
  measured(CoderWorkspaceProxy, ({ spec, status }) => ({
    ...common(status),
    desiredReplicas: spec?.replicas ?? workspaceProxyDefaults.replicas,
    givenTokenExpires: status?.bootstrapTokenExpires,
  })),
  ...ENTITY_OBJECTS.map((kind) => measured(kind, entity)),
];

/** An entity at coderd has no pods: it is ready, or it is not. */
function entity({ status }: Stored<EntityObject>): Omit<Facts, "paused"> {
  const conditions = status?.conditions ?? [];
  const isReady = conditions.some(({ type, status: value }) => type === "Ready" && value === "True");
  return { phase: isReady ? "Ready" : "Pending", conditions };
}

function measured<T extends KubeObject>(
  kind: Kind<T>,
  facts: (object: Stored<T>) => Omit<Facts, "paused">,
): MeasuredKind {
  const all = (object: Stored<T>): Facts => ({ ...facts(object), paused: isPaused(object) });
  return { kind, facts: all } as unknown as MeasuredKind;
}

function upgradeOf(status: CoderControlPlane["status"]): Facts["upgrade"] {
  const { stage, since } = status?.upgrade ?? {};
  return stage && since ? { stage, since: Date.parse(since) } : undefined;
}

function keyOf(status: CoderProvisioner["status"]): Facts["key"] {
  const { provisionerKeyID: id, controlPlaneURL: url } = status ?? {};
  return id && url ? { id, url } : undefined;
}

interface CommonStatus {
  readonly phase?: string;
  readonly conditions?: readonly Condition[];
  readonly readyReplicas?: number;
}

/** An object without a status is pending, like one whose pods are not ready. */
function common(status: CommonStatus | undefined): Omit<Facts, "desiredReplicas" | "paused"> {
  const { phase = "Pending", conditions = [], readyReplicas = 0 } = status ?? {};
  return { phase, conditions, readyReplicas };
}
