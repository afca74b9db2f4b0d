import { AVAILABLE, CONFLICT, type Condition, UNREPORTED } from "kube-controller-runtime";

/** A condition of a kind, as the operator, `kubectl coder` and the docs use it. */
export interface ConditionRow {
  readonly type: string;
  /** Which status is a problem: False for `good`, True for `bad`, neither for `informative`. */
  readonly polarity: "good" | "bad" | "informative";
  /** Whether `Ready` summarizes it. */
  readonly inReady?: true;
  /** Whether the operator always determines it, so that Unknown is also a problem. */
  readonly isAsked?: true;
  /** Whether another condition reports the same problem, so that users see only that one. */
  readonly isRepeated?: true;
  /** Reasons of a normal start or of a user's choice. They emit no events. */
  readonly quiet?: readonly string[];
}

/** The conditions of a kind, by the names that the steps use. */
type Table = Readonly<Record<string, ConditionRow>>;

/**
 * coderd has not created its tables yet. This is normal until a pod is ready; afterwards, a step emits the
 * event.
 */
export const NOT_MIGRATED = "NotMigrated";

/** Normal for an object that does not set its image. */
export const UNPINNED = "TagMoves";

/** The exposure of coderd waits for its first admin. */
export const AWAITS_FIRST_ADMIN = "WaitingForFirstAdmin";

export const CONNECTING = "Connecting";

/** It is unknown whether enough daemons are connected. */
export const DAEMONS_UNKNOWN = "DaemonsUnknown";

/** The control plane does not have a token for the provisioner yet. */
const NO_ACCESS = "OperatorAccessNotReady";

/** Reasons while coderd lacks something that a spec names. */
const MISSING_REASONS = ["OrganizationMissing", "GroupsMissing", "RolesMissing"] as const;

const ROLLOUT_REASONS = ["RollingOut", "ScaledToZero", "NamesTaken"] as const;

/** Conditions of the objects that pods of every kind need. */
const rollout = {
  disruption: { type: "DisruptionBudgetReady", polarity: "good", inReady: true },
  deployment: { type: "DeploymentReady", polarity: "good", inReady: true, quiet: ROLLOUT_REASONS },
} as const satisfies Table;

/** Conditions of the pods of every kind. */
const outcome = {
  available: { type: AVAILABLE, polarity: "informative", quiet: ["Starting"] },
  stalled: { type: "Stalled", polarity: "bad", isRepeated: true },
  image: { type: "ImagePinned", polarity: "informative", quiet: [UNPINNED] },
  conflict: { type: CONFLICT, polarity: "bad" },
} as const satisfies Table;

/** For code that all kinds share. */
export const workloadConditions = { ...rollout, ...outcome } as const;

/* The conditions of each kind, in the order of its steps. Each condition belongs to one step. */

export const controlPlaneConditions = {
  serviceAccount: { type: "ServiceAccountReady", polarity: "good", inReady: true },
  workspaceRbac: { type: "WorkspaceRBACReady", polarity: "good", inReady: true },
  service: { type: "ServiceReady", polarity: "good", inReady: true, quiet: [AWAITS_FIRST_ADMIN] },
  exposure: { type: "ExposureReady", polarity: "good", inReady: true, quiet: [AWAITS_FIRST_ADMIN] },
  accessURL: { type: "AccessURLExposed", polarity: "good" },
  ...rollout,
  ...outcome,
  ready: { type: "Ready", polarity: "good", quiet: ["Pending"] },
  database: { type: "DatabaseDurable", polarity: "good" },
  access: { type: "OperatorAccessReady", polarity: "good", quiet: ["Disabled", NOT_MIGRATED] },
  firstAdmin: { type: "FirstAdminReady", polarity: "good", quiet: ["Pending"] },
  license: { type: "LicenseApplied", polarity: "good" },
  entitlements: { type: "EntitlementsKnown", polarity: "good" },
  licenseTerm: { type: "LicenseValid", polarity: "good" },
  health: { type: "Healthy", polarity: "good", isAsked: true },
  organizationSync: { type: "OrganizationSyncReady", polarity: "good", quiet: ["OrganizationMissing"] },
  builds: { type: "BuildsServed", polarity: "good", isAsked: true },
  upgrading: { type: "Upgrading", polarity: "good", quiet: ["Completed"] },
  upgradePossible: { type: "UpgradePossible", polarity: "informative" },
} as const satisfies Table;

export const provisionerConditions = {
  controlPlane: { type: "ControlPlaneReady", polarity: "good", inReady: true, quiet: [UNREPORTED] },
  operatorAccess: { type: "OperatorAccessReady", polarity: "good", inReady: true, quiet: [NO_ACCESS] },
  bootstrapSecret: { type: "BootstrapSecretReady", polarity: "good", inReady: true },
  entitled: { type: "ExternalProvisionersEntitled", polarity: "good", inReady: true },
  // The creation of the key emits its own event.
  key: { type: "ProvisionerKeyReady", polarity: "good", inReady: true, quiet: ["Applied"] },
  keySecret: { type: "ProvisionerKeySecretReady", polarity: "good", inReady: true },
  rbac: { type: "WorkspaceRBACReady", polarity: "good", inReady: true },
  ...rollout,
  daemons: { type: "DaemonsConnected", polarity: "good", inReady: true, isAsked: true, quiet: [CONNECTING] },
  ...outcome,
  ready: { type: "Ready", polarity: "good", quiet: ["Pending", DAEMONS_UNKNOWN] },
  scalingActive: { type: "ScalingActive", polarity: "good" },
  scalingLimited: { type: "ScalingLimited", polarity: "informative" },
} as const satisfies Table;

export const workspaceProxyConditions = {
  coderd: { type: "CoderdFound", polarity: "good", inReady: true, quiet: [UNREPORTED] },
  credentials: { type: "CredentialsReady", polarity: "good", inReady: true },
  registration: { type: "Registered", polarity: "good", inReady: true },
  service: { type: "ServiceReady", polarity: "good", inReady: true },
  exposure: { type: "ExposureReady", polarity: "good", inReady: true },
  ...rollout,
  ...outcome,
  health: { type: "Healthy", polarity: "good", inReady: true, isAsked: true, quiet: ["NotReported"] },
  ready: { type: "Ready", polarity: "good", quiet: ["Pending"] },
} as const satisfies Table;

/** Of all kinds that describe an entity in coderd. */
export const entityConditions = {
  controlPlane: { type: "ControlPlaneReady", polarity: "good", inReady: true, quiet: [UNREPORTED] },
  operatorAccess: { type: "OperatorAccessReady", polarity: "good", inReady: true, quiet: [NO_ACCESS] },
  // What is missing may come with the same `kubectl apply`.
  synced: { type: "Synced", polarity: "good", inReady: true, quiet: MISSING_REASONS },
  conflict: { type: CONFLICT, polarity: "bad" },
  reconciling: { type: "Reconciling", polarity: "informative" },
  stalled: { type: "Stalled", polarity: "bad", isRepeated: true },
  ready: { type: "Ready", polarity: "good", quiet: ["Pending"] },
} as const satisfies Table;

/** Reasons that a user chose, or that are normal despite the condition's status. */
export const CHOSEN_REASONS: ReadonlySet<string> = new Set([
  ...["Disabled", "ScaledToZero", "NotRequested", "NotConfigured", "Completed"],
]);

/** Reasons of conditions that are True but need attention soon. */
export const WARNING_REASONS: ReadonlySet<string> = new Set([
  ...["ExpiresSoon", "GracePeriod", "InGrace", "RenewalFailed", "OldKeyLeft", "TokenExpiresSoon"],
]);

/** Reasons of the control plane's access that also make coderd's pods fail. */
const DATABASE_FAULTS: ReadonlySet<string> = new Set([
  ...["InvalidConnectionURL", "DatabaseUnreachable", "DatabaseAuthenticationFailed", "DatabaseMissing"],
  ...["DatabaseTLSFailed", "DatabasePermissionDenied", "SecretMissing", "ConfigMapMissing"],
]);

/**
 * Rank of a problem in lists of causes. A name conflict explains missing objects, a faulty database explains
 * failing pods, and failing pods explain everything that needs coderd.
 */
export function causeRank({ type, reason }: Pick<Condition, "type" | "reason">): number {
  if (type === outcome.conflict.type) return 3;
  if (reason === AWAITS_FIRST_ADMIN) return -1;
  if (type === controlPlaneConditions.access.type && DATABASE_FAULTS.has(reason)) return 2;
  return type === rollout.deployment.type && reason === "Stalled" ? 1 : 0;
}

/** The condition types of a table, by the same names. */
export function typesOf<T extends Table>(table: T): { readonly [Name in keyof T]: T[Name]["type"] } {
  const types = Object.entries(table).map(([name, { type }]) => [name, type]);
  return Object.fromEntries(types) as { readonly [Name in keyof T]: T[Name]["type"] };
}

/** The conditions that `Ready` summarizes. Causes come before their effects. */
export function summarizedConditions(table: Table): string[] {
  return Object.values(table).flatMap(({ type, inReady }) => (inReady ? [type] : []));
}

/** A reason that is quiet for one condition is quiet for every condition of the kind. */
export function quietReasonsOf(table: Table): ReadonlySet<string> {
  return new Set(Object.values(table).flatMap(({ quiet = [] }) => quiet));
}
