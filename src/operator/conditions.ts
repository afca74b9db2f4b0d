import { AVAILABLE, CONFLICT, type Condition, UNREPORTED } from "kube-controller-runtime";

/** A condition of a kind, and what the operator, `kubectl coder` and the docs make of it. */
export interface ConditionRow {
  readonly type: string;
  /** Which status is a problem: False of a good one, True of a bad one, neither of an informative one. */
  readonly polarity: "good" | "bad" | "informative";
  /** Whether `Ready` sums it up. */
  readonly inReady?: true;
  /** Whether the operator always asks, so that Unknown is a problem too. */
  readonly isAsked?: true;
  /** Whether another condition says the same, so that people see that one only. */
  readonly isRepeated?: true;
  /** Reasons of a normal start, or of what the user chose: they emit no event. */
  readonly quiet?: readonly string[];
}

/** The conditions of a kind, by the names that the steps use. */
type Table = Readonly<Record<string, ConditionRow>>;

/** coderd has not made its tables yet. While no pod is ready that is a normal start, later a step emits the event. */
export const NOT_MIGRATED = "NotMigrated";

/** Expected of an object that says nothing about its image. */
export const UNPINNED = "TagMoves";

export const CONNECTING = "Connecting";

/** Whether enough daemons are connected is not known. */
export const DAEMONS_UNKNOWN = "DaemonsUnknown";

/** The control plane has no token for the provisioner yet. */
const NO_ACCESS = "OperatorAccessNotReady";

const ROLLOUT_REASONS = ["RollingOut", "ScaledToZero", "NamesTaken"] as const;

/** The conditions of what the pods of every kind need. */
const rollout = {
  disruption: { type: "DisruptionBudgetReady", polarity: "good", inReady: true },
  deployment: { type: "DeploymentReady", polarity: "good", inReady: true, quiet: ROLLOUT_REASONS },
} as const satisfies Table;

/** What the pods of every kind come to. */
const outcome = {
  available: { type: AVAILABLE, polarity: "informative", quiet: ["Starting"] },
  stalled: { type: "Stalled", polarity: "bad", isRepeated: true },
  image: { type: "ImagePinned", polarity: "informative", quiet: [UNPINNED] },
  conflict: { type: CONFLICT, polarity: "bad" },
} as const satisfies Table;

/** For the code that all kinds share. */
export const workloadConditions = { ...rollout, ...outcome } as const;

/*
 * The conditions of each kind, in the order in which its steps run. Each belongs to one step.
 */

export const controlPlaneConditions = {
  serviceAccount: { type: "ServiceAccountReady", polarity: "good", inReady: true },
  workspaceRbac: { type: "WorkspaceRBACReady", polarity: "good", inReady: true },
  service: { type: "ServiceReady", polarity: "good", inReady: true },
  exposure: { type: "ExposureReady", polarity: "good", inReady: true },
  accessURL: { type: "AccessURLExposed", polarity: "good" },
  ...rollout,
  ...outcome,
  ready: { type: "Ready", polarity: "good", quiet: ["Pending"] },
  database: { type: "DatabaseDurable", polarity: "good" },
  access: { type: "OperatorAccessReady", polarity: "good", quiet: ["Disabled", NOT_MIGRATED] },
  license: { type: "LicenseApplied", polarity: "good" },
  entitlements: { type: "EntitlementsKnown", polarity: "good" },
  licenseTerm: { type: "LicenseValid", polarity: "good" },
  health: { type: "Healthy", polarity: "good", isAsked: true },
  builds: { type: "BuildsServed", polarity: "good", isAsked: true },
  upgrading: { type: "Upgrading", polarity: "good", quiet: ["Completed"] },
  upgradePossible: { type: "UpgradePossible", polarity: "informative" },
} as const satisfies Table;

export const provisionerConditions = {
  controlPlane: { type: "ControlPlaneReady", polarity: "good", inReady: true, quiet: [UNREPORTED] },
  operatorAccess: { type: "OperatorAccessReady", polarity: "good", inReady: true, quiet: [NO_ACCESS] },
  bootstrapSecret: { type: "BootstrapSecretReady", polarity: "good", inReady: true },
  entitled: { type: "ExternalProvisionersEntitled", polarity: "good", inReady: true },
  // The creation of the key emits an event of its own.
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

/** Reasons of what a user chose, or of what is normal in spite of the condition's status. */
export const CHOSEN_REASONS: ReadonlySet<string> = new Set([
  ...["Disabled", "ScaledToZero", "NotRequested", "NotConfigured", "Completed"],
]);

/** Reasons of conditions that are True, but need attention soon. */
export const WARNING_REASONS: ReadonlySet<string> = new Set([
  ...["ExpiresSoon", "GracePeriod", "InGrace", "RenewalFailed", "OldKeyLeft", "TokenExpiresSoon"],
]);

/** Reasons of the control plane's access for which coderd's own pods fail too. */
const DATABASE_FAULTS: ReadonlySet<string> = new Set([
  ...["InvalidConnectionURL", "DatabaseUnreachable", "DatabaseAuthenticationFailed", "DatabaseMissing"],
  ...["DatabaseTLSFailed", "DatabasePermissionDenied", "SecretMissing", "ConfigMapMissing"],
]);

/**
 * How much a problem explains of others, for every list of causes: a name that is taken explains what was not made, a
 * faulty database explains pods that fail, and failing pods explain all that coderd would have to do.
 */
export function basicness({ type, reason }: Pick<Condition, "type" | "reason">): number {
  if (type === outcome.conflict.type) return 3;
  if (type === controlPlaneConditions.access.type && DATABASE_FAULTS.has(reason)) return 2;
  return type === rollout.deployment.type && reason === "Stalled" ? 1 : 0;
}

/** The types of a table, by the same names. */
export function typesOf<T extends Table>(table: T): { readonly [Name in keyof T]: T[Name]["type"] } {
  const types = Object.entries(table).map(([name, { type }]) => [name, type]);
  return Object.fromEntries(types) as { readonly [Name in keyof T]: T[Name]["type"] };
}

/** What `Ready` sums up; a cause comes before what follows from it. */
export function summedUp(table: Table): string[] {
  return Object.values(table).flatMap(({ type, inReady }) => (inReady ? [type] : []));
}

/** A reason that is quiet for one condition is quiet for every condition of the kind. */
export function quietReasonsOf(table: Table): ReadonlySet<string> {
  return new Set(Object.values(table).flatMap(({ quiet = [] }) => quiet));
}
