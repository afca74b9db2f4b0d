import type { Stored } from "kube-controller-runtime";
import type { ControlPlaneSpec, OperatorAccessSpec } from "../../api/v1alpha1/control-plane.ts";
import {
  controlPlaneDefaults,
  firstAdminDefaults,
  livenessProbeDefault,
  readinessProbeDefault,
  tokenSecretKey,
  upgradeDefaults,
} from "../../api/v1alpha1/defaults.ts";
import type { FirstAdminSpec } from "../../api/v1alpha1/first-admin.ts";
import type { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import type { UpgradeSpec } from "../../api/v1alpha1/upgrade.ts";
import { childNameOf, type Identity, identityOf, labelLength, shortName } from "../names.ts";
import { defined, oncePerObject, type SecretKey, secretKey, trimmed } from "../normalize.ts";
import type { ContainerPort } from "../workload/certificates.ts";
import { type Exposed, exposureOf } from "../workload/exposure/expose.ts";
import { serviceSettings } from "../workload/exposure/service.ts";
import { type Builder, serviceAccountSettings, workspaceAccess } from "../workload/rbac/settings.ts";
import { type PodSettings, podSettings } from "../workload/settings.ts";

/** How the operator gets an API token: not at all, from a Secret, or by creating one. */
type OperatorAccess =
  | { readonly kind: "disabled" }
  | { readonly kind: "given"; readonly token: SecretKey }
  | { readonly kind: "generated"; readonly token: SecretKey };

/** First user of coderd. */
export interface FirstAdmin {
  readonly email: string;
  readonly username: string;
  readonly name: string;
  /** Location of the initial password. */
  readonly password: SecretKey;
  /** Whether the operator generates the password and creates its Secret. */
  readonly isGenerated: boolean;
}

/** Source of the backup before an upgrade. */
export type BackupSource =
  | { readonly kind: "cronJob"; readonly name: string }
  | {
      readonly kind: "cloudNativePG";
      readonly name: string;
      /** Fields of the Backup in addition to its cluster. */
      readonly options: Pick<CloudNativePGSpec, "method" | "pluginConfiguration">;
    };

type CloudNativePGSpec = NonNullable<NonNullable<UpgradeSpec["backup"]>["cloudNativePG"]>;

/** Upgrade settings with defaults applied. */
export interface UpgradeSettings {
  readonly strategy: "Safe" | "Rolling";
  readonly drainTimeoutMs: number;
  readonly announce: { readonly banner: string | undefined; readonly pausesPrebuilds: boolean };
  readonly backup: (BackupSource & { readonly timeoutMs: number }) | undefined;
}

/**
 * A control plane with defaults applied and names trimmed. `childName` is the name of the Deployment, the
 * Service and the exposure.
 */
export interface ControlPlane extends Exposed, Builder {
  readonly app: "coder-control-plane";
  readonly image: string;
  readonly replicas: number;
  readonly pod: PodSettings;
  readonly useClusterAccessURL: boolean;
  /** Whether the access URL is that of the exposure, unless the user sets one. */
  readonly setAccessURL: boolean;
  /** URL for daemons. If absent, the operator chooses it. */
  readonly internalURL: string | undefined;
  readonly license: SecretKey | undefined;
  readonly operatorAccess: OperatorAccess;
  readonly firstAdmin: FirstAdmin | undefined;
  readonly upgrade: UpgradeSettings;
}

export const httpContainerPort: ContainerPort = { name: "http", containerPort: 8080, protocol: "TCP" };

const probeDefaults = { readiness: readinessProbeDefault, liveness: livenessProbeDefault };

/**
 * Accepts any stored object, including objects without a spec and objects stored before the CRD had defaults.
 */
export const withDefaults = oncePerObject(settingsOf);

function settingsOf(stored: Stored<CoderControlPlane>): ControlPlane {
  const spec: ControlPlaneSpec = stored.spec ?? {};
  const identity = identityOf(stored);
  const childName = childNameOf("coder-control-plane", identity.name);
  const pod = podSettings(spec, probeDefaults);
  const tls = pod.tlsSecretNames.length > 0;
  return {
    app: "coder-control-plane",
    identity,
    labels: spec.labels ?? {},
    childName,
    image: trimmed(spec.image) ?? controlPlaneDefaults.image,
    replicas: spec.replicas ?? controlPlaneDefaults.replicas,
    pod,
    useClusterAccessURL: spec.envUseClusterAccessURL ?? controlPlaneDefaults.envUseClusterAccessURL,
    setAccessURL: spec.expose?.setAccessURL ?? false,
    internalURL: trimmed(spec.internalURL),
    service: serviceSettings(spec.service, { tls, target: httpContainerPort }),
    exposure: exposureOf(spec.expose),
    serviceAccount: serviceAccountSettings(spec.serviceAccount, childName),
    workspaceAccess: workspaceAccess(spec.rbac, identity),
    license: secretKey(spec.licenseSecretRef, controlPlaneDefaults.licenseSecretKey),
    operatorAccess: operatorAccess(spec.operatorAccess, identity),
    firstAdmin: firstAdmin(spec.firstAdmin, identity),
    upgrade: upgradeSettings(spec.upgrade),
  };
}

function operatorAccess(spec: OperatorAccessSpec | undefined, { name }: Identity): OperatorAccess {
  if (spec?.disabled) return { kind: "disabled" };
  const given = secretKey(spec?.tokenSecretRef, tokenSecretKey);
  if (given) return { kind: "given", token: given };
  return { kind: "generated", token: { name: generatedTokenName(spec, name), key: tokenSecretKey } };
}

/** Name of the Secret for a generated token, regardless of whether the spec requests one. */
export function generatedTokenName(spec: OperatorAccessSpec | undefined, name: string): string {
  const chosen = trimmed(spec?.generatedTokenSecretName);
  return chosen ?? shortName(name, { suffix: "-operator-token", max: labelLength });
}

function firstAdmin(spec: FirstAdminSpec | undefined, { name }: Identity): FirstAdmin | undefined {
  if (!spec) return undefined;
  const given = secretKey(spec.passwordSecretRef, firstAdminDefaults.passwordKey);
  return {
    email: spec.email.trim(),
    username: trimmed(spec.username) ?? firstAdminDefaults.username,
    name: trimmed(spec.name) ?? "",
    password: given ?? { name: passwordSecretName(name), key: firstAdminDefaults.passwordKey },
    isGenerated: given === undefined,
  };
}

/** The Secret for the password that the operator makes, whether it is to make one or not. */
export function passwordSecretName(name: string): string {
  return shortName(name, { suffix: "-first-admin", max: labelLength });
}

export function upgradeSettings(spec: UpgradeSpec | undefined): UpgradeSettings {
  return {
    strategy: spec?.strategy ?? upgradeDefaults.strategy,
    drainTimeoutMs: (spec?.drainTimeoutSeconds ?? upgradeDefaults.drainTimeoutSeconds) * 1_000,
    announce: {
      banner: trimmed(spec?.announce?.banner),
      pausesPrebuilds: spec?.announce?.pausePrebuilds ?? false,
    },
    backup: backupSettings(spec?.backup),
  };
}

function backupSettings(spec: UpgradeSpec["backup"]): UpgradeSettings["backup"] {
  const timeoutMs = (spec?.timeoutSeconds ?? upgradeDefaults.backupTimeoutSeconds) * 1_000;
  const cronJob = trimmed(spec?.cronJobName);
  if (cronJob) return { kind: "cronJob", name: cronJob, timeoutMs };
  const { clusterName, method, pluginConfiguration } = spec?.cloudNativePG ?? {};
  const cluster = trimmed(clusterName);
  const options = defined({ method, pluginConfiguration });
  return cluster ? { kind: "cloudNativePG", name: cluster, options, timeoutMs } : undefined;
}
