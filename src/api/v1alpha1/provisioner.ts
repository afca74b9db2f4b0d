import {
  lastColumns,
  type Phase,
  podsColumns,
  readinessColumns,
  recordedSecretRef,
  secretKeyRef,
  specRequired,
  statusFields,
} from "./common.ts";
import { autoscalingDefaults, provisionerDefaults, tokenSecretKey } from "./defaults.ts";
import { maxKeyNameLength, reservedKeyNames } from "./limits.ts";
import { objectName, secretDataKey } from "./names.ts";
import { rbac, serviceAccount, workspaceNamespaces } from "./permissions.ts";
import { certs, livenessProbe, podFields, readinessProbe, replicas } from "./pod.ts";
import {
  atomic,
  column,
  int32,
  int64,
  type KindDescription,
  list,
  object,
  optional,
  rules,
  type Static,
  stringMap,
  text,
  time,
  wideColumn,
  word,
} from "./schema.ts";

const keyName = text(
  "Name of the key in coderd. Defaults to the name of the provisioner, shortened if necessary.",
  {
    maxLength: 128,
    ...rules(
      {
        rule: `self.size() <= ${maxKeyNameLength}`,
        message: `must be at most ${maxKeyNameLength} characters long`,
      },
      {
        rule: "!self.contains('/')",
        message: "must not contain a slash: coderd cannot delete such a key",
      },
      {
        rule: `!(self.lowerAscii() in [${reservedKeyNames.map((name) => `'${name}'`).join(", ")}])`,
        message: `must not be one of the names reserved by coderd: ${reservedKeyNames.join(", ")}`,
      },
      { rule: "self == self.trim()", message: "must not begin or end with a space" },
    ),
  },
);

const key = object("Provisioner key in coderd and the Secret that stores it.", {
  name: optional(keyName),
  secretKey: optional(
    secretDataKey(`Key in the Secret's data. Defaults to \`${provisionerDefaults.keySecretKey}\`.`),
  ),
  secretName: optional(
    objectName("Name of the Secret. Defaults to the name of the object followed by `-provisioner-key`."),
  ),
});

const controlPlaneRef = object(
  "Control plane that the daemons connect to.",
  { name: optional(objectName("Name of a CoderControlPlane in the same namespace.")) },
  rules({
    rule: "has(self.name)",
    message: "must be the name of a CoderControlPlane in the same namespace",
    fieldPath: ".name",
    reason: "FieldValueRequired",
  }),
);

const bootstrap = object("Credentials that replace the operator token of the control plane.", {
  credentialsSecretRef: secretKeyRef(
    "Secret with a session token that is allowed to manage provisioner keys.",
    tokenSecretKey,
    { default: tokenSecretKey },
  ),
});

const MAX_REPLICAS = 1_000;
const { minReplicas, minIdle, scaleDownDelaySeconds, pollSeconds, priority, keepWarmMinutes } =
  autoscalingDefaults;
const number = { minimum: 0, maximum: MAX_REPLICAS };

const autoscaling = object(
  "Scales the number of daemons with the length of coderd's build queue. If set, `replicas` is only the initial number.",
  {
    fallbackReplicas: optional(
      int32(
        "Minimum number of daemons after coderd has been unreachable for ten minutes. By default, the number does not change.",
        number,
      ),
    ),
    keepWarmMinutes: optional(
      int32(
        "Minutes before a scheduled start or stop of a workspace at which a pool with minReplicas 0 starts a daemon. Without a daemon, coderd skips the scheduled build. 0 disables this.",
        { default: keepWarmMinutes, minimum: 0, maximum: 1_440 },
      ),
    ),
    maxReplicas: int32("The most daemons.", { minimum: 1, maximum: MAX_REPLICAS }),
    minIdle: optional(
      int32("Number of idle daemons to keep in addition to busy ones.", {
        ...number,
        default: minIdle,
      }),
    ),
    minReplicas: optional(
      int32("Minimum number of daemons. If 0, the first build waits until a daemon has started.", {
        ...number,
        default: minReplicas,
      }),
    ),
    pollSeconds: optional(
      int32(
        "Interval in seconds at which the queue is polled, at most 60. The operator polls more often while daemons start.",
        { default: pollSeconds, minimum: 5, maximum: 3_600 },
      ),
    ),
    priority: optional(
      int32("If several pools match a build, the operator scales up the pool with the highest priority.", {
        default: priority,
      }),
    ),
    scaleDownDelaySeconds: optional(
      int32("Seconds to wait before idle daemons are removed.", {
        default: scaleDownDelaySeconds,
        minimum: 0,
        maximum: 86_400,
      }),
    ),
  },
  rules(
    {
      rule: "!has(self.minReplicas) || self.minReplicas <= self.maxReplicas",
      message: "minReplicas must not exceed maxReplicas",
    },
    {
      rule: "!has(self.fallbackReplicas) || self.fallbackReplicas <= self.maxReplicas",
      message: "fallbackReplicas must not exceed maxReplicas",
    },
  ),
);

/** Objects that were stored before the default existed have no value; use the default. */
const replicasOf = (object: string) =>
  `(has(${object}.spec.replicas) ? ${object}.spec.replicas : ${provisionerDefaults.replicas})`;

const isAutoscaled = (object: string) => `has(${object}.spec) && has(${object}.spec.autoscaling)`;

const replicasFixedByAutoscaling = {
  rule: `!(${isAutoscaled("self")} && ${isAutoscaled("oldSelf")}) || ${replicasOf("self")} == ${replicasOf("oldSelf")}`,
  message:
    "cannot be changed while autoscaling is set; change autoscaling.minReplicas or autoscaling.maxReplicas",
  fieldPath: ".spec.replicas",
};

const provisionerSpec = object("Desired state of the provisioner daemons.", {
  ...podFields,
  autoscaling: optional(autoscaling),
  bootstrap: optional(bootstrap),
  certs: optional(certs()),
  controlPlaneRef,
  image: optional(text("Container image for the daemons. Defaults to the image of the control plane.")),
  key: optional(key),
  livenessProbe: optional(livenessProbe("Liveness probe of the daemons. Disabled by default.")),
  rbac: optional(rbac()),
  serviceAccount: optional(serviceAccount()),
  organizationName: optional(
    text(
      `Organization that the daemons belong to. Defaults to \`${provisionerDefaults.organizationName}\`.`,
      {
        maxLength: 128,
      },
    ),
  ),
  readinessProbe: optional(readinessProbe("Readiness probe of the daemons. Disabled by default.")),
  replicas: optional(replicas("Number of daemons.", { default: provisionerDefaults.replicas })),
  tags: optional(
    stringMap(
      "Tags of the daemons. A daemon accepts a job only if it has all tags of the job.",
      rules({ rule: "!('' in self)", message: "must not contain a tag with an empty name" }),
    ),
  ),
  terminationGracePeriodSeconds: optional(
    int64(
      `Seconds that a daemon has to finish its job before it is killed. Defaults to ${provisionerDefaults.terminationGracePeriodSeconds}.`,
      { minimum: 0 },
    ),
  ),
});

/**
 * A key must be recorded to survive a crash of the operator. It is recorded as pending before it is created,
 * because coderd returns the plaintext only once: a key without a Secret must be deleted and recreated. It is
 * recorded as retired from its replacement until coderd confirms its deletion.
 */
const keyRecord = object("A provisioner key in coderd.", {
  attempt: optional(
    text(
      "Identifies the Secret that contains this key. The annotation `coder.com/provisioner-key-attempt` of the Secret has the same value.",
    ),
  ),
  controlPlaneRefName: optional(text("Control plane for which the key was created.")),
  controlPlaneURL: optional(text("URL of the coderd that has the key.")),
  credentialsSecretRef: optional(recordedSecretRef("Location of the token that was used to create the key.")),
  id: optional(text("ID of the key.")),
  name: text("Name of the key."),
  organizationID: optional(text("ID of the organization of the key.")),
  organizationName: optional(text("Name of the organization of the key, as given in the spec.")),
  tagsHash: optional(text("Hash of the tags of the key.")),
});

const provisionerStatus = object("Most recently observed state of the provisioner.", {
  ...statusFields,
  bootstrapTokenExpires: optional(
    time(
      "Time at which the token from spec.bootstrap.credentialsSecretRef expires. The operator does not renew it.",
    ),
  ),
  controlPlaneRefName: optional(text("Control plane for which the key was created.")),
  controlPlaneURL: optional(text("URL of the coderd that has the key.")),
  credentialsSecretRef: optional(
    recordedSecretRef("Location of the token that the operator uses to manage the key."),
  ),
  desiredReplicas: optional(
    int32("Number of daemons that autoscaling requested last. Absent without `spec.autoscaling`."),
  ),
  organizationID: optional(text("ID of the organization of the key.")),
  organizationName: optional(text("Organization of the key.")),
  pendingBuilds: optional(
    int32(
      "Number of builds that wait for these daemons. Absent without `spec.autoscaling` and while coderd is unreachable.",
    ),
  ),
  pendingKey: optional(
    object(
      "The key that the operator is about to create. Present only during creation or rotation.",
      keyRecord.properties,
    ),
  ),
  phase: optional(word<Phase>("Ready if at least one daemon is ready, otherwise Pending.")),
  provisionerKeyID: optional(text("ID of the key in use.")),
  provisionerKeyName: optional(text("Name of the key in use.")),
  retiredKeys: optional(
    list("Replaced keys. The operator deletes them after all daemons use the new key.", keyRecord, atomic),
  ),
  secretRef: optional(recordedSecretRef("Location of the key.")),
  tagsHash: optional(text("Hash of the tags of the key.")),
  workspaceNamespaces: optional(workspaceNamespaces),
});

export type ProvisionerSpec = Static<typeof provisionerSpec>;
export type ProvisionerStatus = Static<typeof provisionerStatus>;
export type ProvisionerKeyRecord = Static<typeof keyRecord>;

export const provisioner: KindDescription = {
  shortName: "cprov",
  description:
    "CoderProvisioner runs external provisioner daemons and manages their key, permissions and Deployment.",
  spec: provisionerSpec,
  status: provisionerStatus,
  rules: [
    specRequired("controlPlaneRef.name must be the name of a CoderControlPlane in the same namespace"),
    replicasFixedByAutoscaling,
  ],
  scalable: true,
  columns: [
    ...readinessColumns,
    ...podsColumns,
    column("Control Plane", ".spec.controlPlaneRef.name", "Control plane that the daemons connect to."),
    wideColumn("Organization", ".status.organizationName", "Organization that the daemons belong to."),
    wideColumn("Key", ".status.provisionerKeyName", "Name of the key in use."),
    ...lastColumns,
  ],
};
