import { findCondition, type Stored } from "kube-controller-runtime";
import {
  autoscalingDefaults,
  livenessProbeDefault,
  provisionerDefaults,
  tokenSecretKey,
} from "../../api/v1alpha1/defaults.ts";
import type { CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import { maxKeyNameLength, reservedKeyNames } from "../../api/v1alpha1/limits.ts";
import type { ProvisionerSpec, ProvisionerStatus } from "../../api/v1alpha1/provisioner.ts";
import { provisionerConditions } from "../conditions.ts";
import {
  avoidReserved,
  childNameOf,
  type Identity,
  identityOf,
  labelLength,
  nameLength,
  shortName,
} from "../names.ts";
import { oncePerObject, type SecretKey, secretKey, trimmed } from "../normalize.ts";
import { type Builder, serviceAccountSettings, workspaceAccess } from "../workload/rbac/settings.ts";
import { type PodSettings, podSettings } from "../workload/settings.ts";

interface KeySettings {
  /** In lowercase, like coderd. */
  readonly name: string;
  /** Whether the user set the name, so that a rotation cannot use a different one. */
  readonly nameIsFixed: boolean;
  readonly secret: SecretKey;
}

/** Autoscaling settings with defaults applied. */
type Autoscaling = Required<Omit<AutoscalingSpec, "fallbackReplicas">> &
  Pick<AutoscalingSpec, "fallbackReplicas">;

type AutoscalingSpec = NonNullable<ProvisionerSpec["autoscaling"]>;

/** A pool of provisioner daemons with defaults applied and names trimmed. */
export interface Provisioner extends Builder {
  readonly app: "coder-provisioner";
  /** Name of the Deployment, the Role and the RoleBinding. */
  readonly childName: string;
  /** Undefined only for objects stored before the validation rule existed. */
  readonly controlPlaneName: string | undefined;
  /** A session token in the spec. Defaults to the operator's token of the control plane. */
  readonly session: SecretKey | undefined;
  readonly organizationName: string;
  readonly key: KeySettings;
  readonly tags: Readonly<Record<string, string>>;
  /** Defaults to the image of the control plane. */
  readonly image: string | undefined;
  /** Desired number of daemons; with autoscaling, the number that it requested last. */
  readonly replicas: number;
  readonly autoscaling: Autoscaling | undefined;
  readonly pod: PodSettings;
}

/** A daemon serves no requests, so probes are disabled by default. */
const probeDefaults = { readiness: { enabled: false }, liveness: livenessProbeDefault };

/**
 * Accepts any stored object, including objects without a spec and objects stored before the CRD had
 * validation rules.
 */
export const withDefaults = oncePerObject(settingsOf);

function settingsOf(stored: Stored<CoderProvisioner>): Provisioner {
  const spec: Partial<ProvisionerSpec> = stored.spec ?? {};
  const identity = identityOf(stored);
  return {
    app: "coder-provisioner",
    identity,
    labels: spec.labels ?? {},
    childName: childNameOf("coder-provisioner", identity.name),
    serviceAccount: serviceAccountSettings(
      spec.serviceAccount,
      shortName(identity.name, { suffix: "-provisioner", max: labelLength }),
    ),
    workspaceAccess: workspaceAccess(spec.rbac, identity),
    controlPlaneName: trimmed(spec.controlPlaneRef?.name),
    session: secretKey(spec.bootstrap?.credentialsSecretRef, tokenSecretKey),
    organizationName: trimmed(spec.organizationName) ?? provisionerDefaults.organizationName,
    key: keySettings(spec.key, identity),
    tags: spec.tags ?? {},
    image: trimmed(spec.image),
    replicas: wantedReplicas(spec, stored.status),
    autoscaling: spec.autoscaling && { ...autoscalingDefaults, ...spec.autoscaling },
    pod: {
      terminationGracePeriodSeconds: provisionerDefaults.terminationGracePeriodSeconds,
      ...podSettings(spec, probeDefaults),
    },
  };
}

/**
 * The settings for a pool with a running Deployment. When the spec changes, running daemons remain until the
 * queue was polled, because only the queue shows which of them are busy, and a recorded number may be
 * outdated.
 */
export function continuing(
  provisioner: Provisioner,
  { status, metadata }: Stored<CoderProvisioner>,
  running: number | undefined,
): Provisioner {
  const { autoscaling } = provisioner;
  if (!autoscaling || running === undefined) return provisioner;
  const decided = findCondition(status?.conditions, provisionerConditions.scalingActive.type);
  const isDecided = decided?.observedGeneration === metadata.generation;
  if (isDecided && status?.desiredReplicas !== undefined) return provisioner;
  return { ...provisioner, replicas: Math.max(running, autoscaling.minReplicas) };
}

function wantedReplicas(
  { autoscaling, replicas = provisionerDefaults.replicas }: Partial<ProvisionerSpec>,
  status: ProvisionerStatus = {},
): number {
  if (!autoscaling) return replicas;
  const { minReplicas = autoscalingDefaults.minReplicas, maxReplicas } = autoscaling;
  return status.desiredReplicas ?? Math.min(Math.max(replicas, minReplicas), maxReplicas);
}

function keySettings(spec: ProvisionerSpec["key"], { name }: Identity): KeySettings {
  const chosen = trimmed(spec?.name);
  const secretName = trimmed(spec?.secretName);
  return {
    name:
      chosen?.toLowerCase() ?? avoidReserved(shortName(name, { max: maxKeyNameLength }), reservedKeyNames),
    nameIsFixed: chosen !== undefined,
    secret: {
      name: secretName ?? shortName(name, { suffix: "-provisioner-key", max: nameLength }),
      key: trimmed(spec?.secretKey) ?? provisionerDefaults.keySecretKey,
    },
  };
}
