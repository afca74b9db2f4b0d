import type { Changes, KindName } from "./objects.ts";

/** An object's conditions, and what each tool has to make of them. */
export interface Case {
  readonly kind: KindName;
  readonly changes: Changes;
  readonly argo: "Healthy" | "Progressing" | "Degraded" | "Suspended";
  readonly flux: "Current" | "InProgress" | "Failed";
  /** The condition whose message people have to see. */
  readonly reported: string;
}

function caseOf(kind: KindName, changes: Changes, expected: Omit<Case, "kind" | "changes">): Case {
  return { kind, changes, ...expected };
}

const well = { argo: "Healthy", flux: "Current", reported: "Ready" } as const;
const waits = (reported: string) => ({ argo: "Progressing", flux: "InProgress", reported }) as const;
const broken = (reported: string) => ({ argo: "Degraded", flux: "Failed", reported }) as const;
const resting = { argo: "Suspended", flux: "Current", reported: "DeploymentReady" } as const;

export const cases: readonly Case[] = [
  caseOf("controlPlane", {}, well),
  caseOf("controlPlane", { LicenseApplied: ["Unknown", "NotConfigured"] }, well),
  caseOf("controlPlane", { OperatorAccessReady: ["False", "Disabled"] }, well),
  caseOf("controlPlane", { LicenseApplied: ["Unknown", "Disabled"] }, well),
  caseOf("controlPlane", { DeploymentReady: ["False", "RollingOut"] }, waits("DeploymentReady")),
  caseOf("controlPlane", { DeploymentReady: ["False", "Stalled"] }, broken("DeploymentReady")),
  caseOf("controlPlane", { DeploymentReady: ["False", "ScaledToZero"] }, resting),
  caseOf("controlPlane", { DeploymentReady: ["False", "NamesTaken"] }, broken("DeploymentReady")),
  caseOf("controlPlane", { WorkspaceRBACReady: ["False", "GrantRefused"] }, broken("WorkspaceRBACReady")),
  caseOf("controlPlane", { ExposureReady: ["False", "GatewayAPIMissing"] }, broken("ExposureReady")),
  caseOf("controlPlane", { ExposureReady: ["False", "IngressClassMissing"] }, broken("ExposureReady")),
  caseOf("controlPlane", { LicenseApplied: ["False", "Pending"] }, waits("LicenseApplied")),
  caseOf("controlPlane", { LicenseApplied: ["False", "Forbidden"] }, broken("LicenseApplied")),
  caseOf(
    "controlPlane",
    { LicenseApplied: ["False", "Pending"], DeploymentReady: ["False", "RollingOut"] },
    waits("DeploymentReady"),
  ),
  caseOf("provisioner", { BootstrapSecretReady: ["Unknown", "NotUsed"] }, well),
  caseOf("provisioner", { ControlPlaneReady: ["False", "Pending"] }, waits("ControlPlaneReady")),
  caseOf("provisioner", { ControlPlaneReady: ["False", "NotFound"] }, broken("ControlPlaneReady")),
  caseOf(
    "provisioner",
    { OperatorAccessReady: ["False", "OperatorAccessNotReady"] },
    waits("OperatorAccessReady"),
  ),
  caseOf(
    "provisioner",
    { ExternalProvisionersEntitled: ["False", "NotEntitled"] },
    broken("ExternalProvisionersEntitled"),
  ),
  caseOf("workspaceProxy", { Healthy: ["Unknown", "NotManaged"] }, well),
  caseOf("workspaceProxy", { Healthy: ["False", "NotReported"] }, waits("Healthy")),
  caseOf("workspaceProxy", { Healthy: ["False", "Unreachable"] }, broken("Healthy")),
];
