import {
  lastColumns,
  nameWithoutDot,
  type Phase,
  podsColumns,
  readinessColumns,
  recordedSecretRef,
  secretKeyRef,
  statusFields,
  tls,
} from "./common.ts";
import {
  controlPlaneDefaults,
  livenessProbeDefault,
  readinessProbeDefault,
  tokenSecretKey,
} from "./defaults.ts";
import { controlPlaneExpose } from "./expose.ts";
import { firstAdmin, firstAdminStatus, ownPasswordSecret } from "./first-admin.ts";
import { objectName, optionalHttpURL } from "./names.ts";
import { rbac, serviceAccount, workspaceNamespaces } from "./permissions.ts";
import { certs, livenessProbe, podFields, readinessProbe, replicas } from "./pod.ts";
import {
  atomic,
  column,
  flag,
  int64,
  type KindDescription,
  list,
  object,
  optional,
  rules,
  type Static,
  text,
  time,
  wideColumn,
  word,
} from "./schema.ts";
import { service } from "./service.ts";
import { organizationSync } from "./sign-on.ts";
import { announcementStatus, upgrade, upgradeStatus } from "./upgrade.ts";

const operatorAccess = object(
  "How the operator gets an API token for coderd. It needs the token to manage licenses, provisioners and proxies.",
  {
    disabled: optional(flag("Disables operator access and revokes the existing token.", { default: false })),
    generatedTokenSecretName: optional(
      objectName(
        "Name of the Secret that stores the generated token. Defaults to the name of the object followed by `-operator-token`.",
      ),
    ),
    tokenSecretRef: optional(
      secretKeyRef(
        "Secret with an existing token of a user with the owner role. If set, the operator never connects to the database.",
        tokenSecretKey,
        { default: tokenSecretKey },
      ),
    ),
  },
  {
    default: {},
    ...rules({
      rule: "!(has(self.tokenSecretRef) && has(self.generatedTokenSecretName))",
      message: "tokenSecretRef and generatedTokenSecretName are mutually exclusive",
    }),
  },
);

const controlPlaneSpec = object("Desired state of the control plane.", {
  ...podFields,
  certs: optional(certs({ default: {} })),
  envUseClusterAccessURL: optional(
    flag("Sets CODER_ACCESS_URL to the URL of the Service, unless extraEnv or envFrom sets it.", {
      default: controlPlaneDefaults.envUseClusterAccessURL,
    }),
  ),
  expose: optional(controlPlaneExpose),
  firstAdmin: optional(firstAdmin),
  image: optional(text("Container image for coderd.", { default: controlPlaneDefaults.image })),
  internalURL: optional(
    optionalHttpURL(
      "URL that provisioner daemons use to reach coderd. Set it only if the daemons cannot reach the Service or the access URL. The operator itself always connects through the Service.",
    ),
  ),
  licenseSecretRef: optional(
    secretKeyRef("Secret that contains the license.", controlPlaneDefaults.licenseSecretKey),
  ),
  livenessProbe: optional(
    livenessProbe("Liveness probe that requests /healthz. Disabled by default.", {
      default: livenessProbeDefault,
    }),
  ),
  operatorAccess: optional(operatorAccess),
  organizationSync: optional(organizationSync),
  rbac: optional(rbac({ default: {} })),
  readinessProbe: optional(
    readinessProbe("Readiness probe that requests /healthz. Enabled by default.", {
      default: readinessProbeDefault,
    }),
  ),
  replicas: optional(
    replicas("Number of coderd pods. More than one requires a license.", {
      default: controlPlaneDefaults.replicas,
    }),
  ),
  service: optional(service),
  serviceAccount: optional(serviceAccount({ default: {} })),
  tls: optional(tls({ default: {} })),
  upgrade: optional(upgrade),
});

const tier = word<"none" | "trial" | "enterprise" | "premium" | "unknown">(
  "Tier of the license: none, trial, enterprise, premium or unknown.",
);

const license = object(
  "Effective license, merged from all licenses in coderd, including those that the operator did not upload.",
  {
    aiSeatsAllowed: optional(int64("Number of AI users that the license allows. Absent if unlimited.")),
    aiSeatsUsed: optional(int64("Number of AI users. Reported by coderd only if the license limits them.")),
    expires: optional(
      time(
        "Time at which the license expires. If licenses follow one another without a gap, the time at which the last one expires.",
      ),
    ),
    graceEnds: optional(time("Time at which the grace period ends and licensed features stop working.")),
    managedAgentsAllowed: optional(
      int64(
        "Number of workspaces with managed agents that the license allows in its period. Absent if unlimited.",
      ),
    ),
    managedAgentsUsed: optional(
      int64("Number of workspaces with managed agents that were built in the license period."),
    ),
    seatsAllowed: optional(int64("Number of active users that the license allows. Absent if unlimited.")),
    seatsUsed: optional(int64("Number of active users.")),
    tier,
    trial: flag("Whether the license is a trial."),
    warnings: optional(
      list("Warnings that coderd reports about the license, except for offers.", text("A warning."), atomic),
    ),
  },
);
export type LicenseStatus = Static<typeof license>;

const healthFinding = object("A problem found by coderd's health check.", {
  code: text("Code assigned by coderd, such as EDB01."),
  error: flag("Whether the problem is an error. Otherwise, it is a warning."),
  section: text("Section of the health report that contains the problem."),
});

const controlPlaneStatus = object("Most recently observed state of the control plane.", {
  ...statusFields,
  accessURL: optional(text("Access URL that coderd reports.")),
  announcement: optional(announcementStatus),
  entitlementsLastChecked: optional(time("Time at which the operator last queried the entitlements.")),
  externalProvisionerDaemonsEntitlement: optional(
    text("Entitlement to external provisioners: entitled, grace_period, not_entitled or unknown."),
  ),
  firstAdmin: optional(firstAdminStatus),
  healthFindings: optional(
    list("Problems found by the health checks of all replicas.", healthFinding, atomic),
  ),
  image: optional(
    text("Image that was rolled out last. The operator compares spec.image with it to detect an upgrade."),
  ),
  license: optional(license),
  licenseLastApplied: optional(time("Time at which the operator last uploaded the license.")),
  licenseLastAppliedHash: optional(text("Hexadecimal SHA-256 hash of the uploaded license.")),
  licenseTier: optional(tier),
  operatorAccessReady: optional(flag("Whether the operator has a token that coderd accepts.")),
  operatorTokenExpires: optional(
    time(
      "Time at which the token from spec.operatorAccess.tokenSecretRef expires. Absent for generated tokens, which the operator renews.",
    ),
  ),
  operatorTokenSecretRef: optional(recordedSecretRef("Location of the operator's token.")),
  phase: optional(word<Phase>("Ready if at least one pod is ready, otherwise Pending.")),
  upgrade: optional(upgradeStatus),
  url: optional(text("URL of coderd inside the cluster.")),
  version: optional(text("Version that coderd reports.")),
  workspaceNamespaces: optional(workspaceNamespaces),
});

export type ControlPlaneSpec = Static<typeof controlPlaneSpec>;
export type ControlPlaneStatus = Static<typeof controlPlaneStatus>;
export type OperatorAccessSpec = Static<typeof operatorAccess>;

export const controlPlane: KindDescription = {
  shortName: "ccp",
  description:
    "CoderControlPlane runs coderd, the Coder server, and manages its Service, permissions, exposure, license and operator access.",
  spec: controlPlaneSpec,
  status: controlPlaneStatus,
  rules: [nameWithoutDot, ownPasswordSecret],
  columns: [
    ...readinessColumns,
    ...podsColumns,
    column("URL", ".status.url", "URL inside the cluster."),
    column("License", ".status.licenseTier", "Tier of the license."),
    column("Version", ".status.version", "Version that coderd reports."),
    wideColumn("Access URL", ".status.accessURL", "Access URL that coderd reports."),
    wideColumn("License Ends", ".status.license.expires", "Time at which the license expires."),
    ...lastColumns,
  ],
};
