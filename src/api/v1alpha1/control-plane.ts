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
import { announcementStatus, upgrade, upgradeStatus } from "./upgrade.ts";

const operatorAccess = object(
  "How the operator gets an API token of this deployment, which licenses and provisioners need.",
  {
    disabled: optional(flag("Give the operator no token, and revoke the one it has.", { default: false })),
    generatedTokenSecretName: optional(
      objectName(
        "Secret in which the operator keeps its token; absent means the name with `-operator-token`.",
      ),
    ),
    tokenSecretRef: optional(
      secretKeyRef(
        "A token of your own with the owner role. The operator then never connects to the database.",
        tokenSecretKey,
        { default: tokenSecretKey },
      ),
    ),
  },
  {
    default: {},
    ...rules({
      rule: "!(has(self.tokenSecretRef) && has(self.generatedTokenSecretName))",
      message:
        "give either tokenSecretRef (a token of your own) or generatedTokenSecretName (one the operator makes), not both",
    }),
  },
);

const controlPlaneSpec = object("What the control plane should be.", {
  ...podFields,
  certs: optional(certs({ default: {} })),
  envUseClusterAccessURL: optional(
    flag("Set CODER_ACCESS_URL to the URL of the Service unless extraEnv or envFrom sets it.", {
      default: controlPlaneDefaults.envUseClusterAccessURL,
    }),
  ),
  expose: optional(controlPlaneExpose),
  image: optional(text("Container image of coderd.", { default: controlPlaneDefaults.image })),
  internalURL: optional(
    optionalHttpURL(
      "URL under which the daemons of provisioners reach coderd, for networks in which they reach neither its Service nor, mapped to that, its access URL. The operator never calls it: its own token goes only through the Service.",
    ),
  ),
  licenseSecretRef: optional(
    secretKeyRef("Secret with the license of the deployment.", controlPlaneDefaults.licenseSecretKey),
  ),
  livenessProbe: optional(
    livenessProbe("Restarts coderd when /healthz stops answering. Off by default.", {
      default: livenessProbeDefault,
    }),
  ),
  operatorAccess: optional(operatorAccess),
  rbac: optional(rbac({ default: {} })),
  readinessProbe: optional(
    readinessProbe("Sends traffic only to pods whose /healthz answers. On by default.", {
      default: readinessProbeDefault,
    }),
  ),
  replicas: optional(
    replicas("Number of coderd pods; more than 1 needs a license.", {
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

const license = object("The license that counts, merged from all that coderd has, whoever uploaded them.", {
  aiSeatsAllowed: optional(int64("Users of AI that the license allows; absent means no limit.")),
  aiSeatsUsed: optional(int64("Users of AI, as coderd counts them where the license limits them.")),
  expires: optional(
    time("End of the term; of licenses that follow one another without a gap, that of the last."),
  ),
  graceEnds: optional(time("End of the grace after the term: licensed features stop then.")),
  managedAgentsAllowed: optional(
    int64("Workspaces with managed agents that the license allows in its period; absent means no limit."),
  ),
  managedAgentsUsed: optional(
    int64(
      "Workspaces that were built with managed agents in the period of the license, as coderd counts them.",
    ),
  ),
  seatsAllowed: optional(int64("Active users that the license allows; absent means no limit.")),
  seatsUsed: optional(int64("Active users, as coderd counts them.")),
  tier,
  trial: flag("Whether it is a trial."),
  warnings: optional(
    list("What coderd warns of, in its own words, but for offers.", text("A warning."), atomic),
  ),
});
export type LicenseStatus = Static<typeof license>;

const healthFinding = object("A finding of coderd's own checks.", {
  code: text("coderd's code, such as EDB01."),
  error: flag("Whether it is an error; else it is a warning."),
  section: text("Part of coderd's health report that has it."),
});

const controlPlaneStatus = object("What the control plane is, as the operator last saw it.", {
  ...statusFields,
  accessURL: optional(text("URL under which people reach the deployment, as coderd knows it.")),
  announcement: optional(announcementStatus),
  entitlementsLastChecked: optional(time("When the operator last asked coderd for its entitlements.")),
  externalProvisionerDaemonsEntitlement: optional(
    text("Entitlement to external provisioners: entitled, grace_period, not_entitled or unknown."),
  ),
  healthFindings: optional(
    list("What coderd's own checks find, of all its replicas.", healthFinding, atomic),
  ),
  image: optional(
    text("Image that the control plane was last brought to. Another version in spec.image is an upgrade."),
  ),
  license: optional(license),
  licenseLastApplied: optional(time("When the operator last uploaded the license.")),
  licenseLastAppliedHash: optional(text("SHA-256 of the license that was uploaded, in hexadecimal.")),
  licenseTier: optional(tier),
  operatorAccessReady: optional(flag("Whether the operator holds a token that coderd accepts.")),
  operatorTokenExpires: optional(
    time(
      "End of the token that spec.operatorAccess.tokenSecretRef names. Its own token the operator renews.",
    ),
  ),
  operatorTokenSecretRef: optional(recordedSecretRef("Where the operator's token is.")),
  phase: optional(word<Phase>("Pending until one pod is ready, then Ready.")),
  upgrade: optional(upgradeStatus),
  url: optional(text("URL of the deployment inside the cluster.")),
  version: optional(text("Version that coderd reports.")),
  workspaceNamespaces: optional(workspaceNamespaces),
});

export type ControlPlaneSpec = Static<typeof controlPlaneSpec>;
export type ControlPlaneStatus = Static<typeof controlPlaneStatus>;
export type OperatorAccessSpec = Static<typeof operatorAccess>;

export const controlPlane: KindDescription = {
  shortName: "ccp",
  description:
    "A Coder deployment: coderd with its Service, permissions, exposure, license and operator access.",
  spec: controlPlaneSpec,
  status: controlPlaneStatus,
  rules: [nameWithoutDot],
  columns: [
    ...readinessColumns,
    ...podsColumns,
    column("URL", ".status.url", "URL inside the cluster."),
    column("License", ".status.licenseTier", "Tier of the license."),
    column("Version", ".status.version", "Version that coderd reports."),
    wideColumn("Access URL", ".status.accessURL", "URL under which people reach the deployment."),
    wideColumn("License Ends", ".status.license.expires", "End of the license's term."),
    ...lastColumns,
  ],
};
