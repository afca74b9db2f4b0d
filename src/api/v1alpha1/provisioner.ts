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
  "Name of the key at coderd; absent means the name of the provisioner, shortened if need be.",
  {
    maxLength: 128,
    ...rules(
      {
        rule: `self.size() <= ${maxKeyNameLength}`,
        message: `coderd takes at most ${maxKeyNameLength} characters: choose a shorter name`,
      },
      {
        rule: "!self.contains('/')",
        message: "coderd cannot delete a key with a slash in its name: choose a name without one",
      },
      {
        rule: `!(self.lowerAscii() in [${reservedKeyNames.map((name) => `'${name}'`).join(", ")}])`,
        message: `coderd keeps the names ${reservedKeyNames.join(", ")} for itself: choose another`,
      },
      { rule: "self == self.trim()", message: "must not begin or end with a blank" },
    ),
  },
);

const key = object("The provisioner key at coderd and the Secret that holds it.", {
  name: optional(keyName),
  secretKey: optional(
    secretDataKey(`Key of the Secret's data. Absent or empty means \`${provisionerDefaults.keySecretKey}\`.`),
  ),
  secretName: optional(objectName("Name of the Secret; absent means the name with `-provisioner-key`.")),
});

const controlPlaneRef = object(
  "The control plane that the daemons work for.",
  { name: optional(objectName("Name of a CoderControlPlane in the same namespace.")) },
  rules({
    rule: "has(self.name)",
    message: "name a CoderControlPlane of the same namespace",
    fieldPath: ".name",
    reason: "FieldValueRequired",
  }),
);

const bootstrap = object("Credentials to use instead of the control plane's operator token.", {
  credentialsSecretRef: secretKeyRef(
    "Secret with a session token that may manage provisioner keys.",
    tokenSecretKey,
    { default: tokenSecretKey },
  ),
});

const mostReplicas = 1_000;
const { minReplicas, minIdle, scaleDownDelaySeconds, pollSeconds, priority, keepWarmMinutes } =
  autoscalingDefaults;
const number = { minimum: 0, maximum: mostReplicas };

const autoscaling = object(
  "Lets the number of daemons follow coderd's queue. `replicas` is then only the number to begin with.",
  {
    fallbackReplicas: optional(
      int32("The least number after coderd could not be asked for ten minutes; absent: no change.", number),
    ),
    keepWarmMinutes: optional(
      int32(
        "With a minimum of 0, one daemon runs from so many minutes before coderd is due to start or stop a workspace by itself, which it skips without a daemon. 0: none.",
        { default: keepWarmMinutes, minimum: 0, maximum: 1_440 },
      ),
    ),
    maxReplicas: int32("The most daemons.", { minimum: 1, maximum: mostReplicas }),
    minIdle: optional(
      int32("Daemons to keep free for the next build, on top of those that are busy.", {
        ...number,
        default: minIdle,
      }),
    ),
    minReplicas: optional(
      int32("The least daemons. With 0 the first build waits until a daemon has started.", {
        ...number,
        default: minReplicas,
      }),
    ),
    pollSeconds: optional(
      int32(
        "Seconds between two looks at the queue, at most 60. It is looked at more often while daemons start.",
        { default: pollSeconds, minimum: 5, maximum: 3_600 },
      ),
    ),
    priority: optional(
      int32("A build that several pools could serve starts a daemon of the pool with the highest priority.", {
        default: priority,
      }),
    ),
    scaleDownDelaySeconds: optional(
      int32("Seconds for which daemons are kept after they were last wanted.", {
        default: scaleDownDelaySeconds,
        minimum: 0,
        maximum: 86_400,
      }),
    ),
  },
  rules(
    {
      rule: "!has(self.minReplicas) || self.minReplicas <= self.maxReplicas",
      message: "minReplicas must not be higher than maxReplicas",
    },
    {
      rule: "!has(self.fallbackReplicas) || self.fallbackReplicas <= self.maxReplicas",
      message: "fallbackReplicas must not be higher than maxReplicas",
    },
  ),
);

/** An object that was stored before the default existed has no number: the default counts. */
const numberOf = (object: string) =>
  `(has(${object}.spec.replicas) ? ${object}.spec.replicas : ${provisionerDefaults.replicas})`;

const follows = (object: string) => `has(${object}.spec) && has(${object}.spec.autoscaling)`;

const numberFollowsQueue = {
  rule: `!(${follows("self")} && ${follows("oldSelf")}) || ${numberOf("self")} == ${numberOf("oldSelf")}`,
  message: "follows the queue while autoscaling is set: change autoscaling.minReplicas or maxReplicas",
  fieldPath: ".spec.replicas",
};

const provisionerSpec = object("What the provisioner daemons should be.", {
  ...podFields,
  autoscaling: optional(autoscaling),
  bootstrap: optional(bootstrap),
  certs: optional(certs()),
  controlPlaneRef,
  image: optional(text("Container image of the daemons; absent means the image of the control plane.")),
  key: optional(key),
  livenessProbe: optional(livenessProbe("Restarts a daemon that stops answering. Off by default.")),
  rbac: optional(rbac()),
  serviceAccount: optional(serviceAccount()),
  organizationName: optional(
    text(`Organization that the daemons serve; absent means \`${provisionerDefaults.organizationName}\`.`, {
      maxLength: 128,
    }),
  ),
  readinessProbe: optional(readinessProbe("Counts a daemon as ready only when it answers. Off by default.")),
  replicas: optional(replicas("Number of daemons.", { default: provisionerDefaults.replicas })),
  tags: optional(
    stringMap(
      "Tags of the daemons: a job goes to a daemon that has all tags of the job.",
      rules({ rule: "!('' in self)", message: "a tag needs a name: the empty string is none" }),
    ),
  ),
  terminationGracePeriodSeconds: optional(
    int64(
      `Seconds a daemon may take to finish its job when it is stopped; absent means ${provisionerDefaults.terminationGracePeriodSeconds}.`,
      { minimum: 0 },
    ),
  ),
});

/**
 * A key at coderd outlives a crash of the operator only if it is written down: as pending before it is asked
 * for (its plaintext is shown once, so a key without a Secret must be deleted and made anew), and as retired
 * from the moment another one replaces it until coderd confirms that it is gone.
 */
const keyRecord = object("A key at coderd, and all that it takes to find it again.", {
  attempt: optional(
    text(
      "Marks the Secret that holds this key: its annotation `coder.com/provisioner-key-attempt` says the same.",
    ),
  ),
  controlPlaneRefName: optional(text("Control plane for which the key was made.")),
  controlPlaneURL: optional(text("URL of the coderd that has the key.")),
  credentialsSecretRef: optional(recordedSecretRef("Where the token was with which the key was made.")),
  id: optional(text("Identifier of the key.")),
  name: text("Name of the key."),
  organizationID: optional(text("Identifier of the organization of the key.")),
  organizationName: optional(text("Organization of the key, as the spec named it.")),
  tagsHash: optional(text("Hash of the tags of the key.")),
});

const provisionerStatus = object("What the provisioner is, as the operator last saw it.", {
  ...statusFields,
  bootstrapTokenExpires: optional(
    time("End of the token that spec.bootstrap.credentialsSecretRef names; nobody renews it."),
  ),
  controlPlaneRefName: optional(text("Control plane for which the key was made.")),
  controlPlaneURL: optional(text("URL of the coderd that has the key.")),
  credentialsSecretRef: optional(
    recordedSecretRef("Where the token is with which the operator manages the key."),
  ),
  desiredReplicas: optional(
    int32("Number of daemons that the queue asked for last; absent without `spec.autoscaling`."),
  ),
  organizationID: optional(text("Identifier of the organization of the key.")),
  organizationName: optional(text("Organization of the key.")),
  pendingBuilds: optional(
    int32(
      "Number of builds that wait for these daemons; absent without `spec.autoscaling` and while coderd can't be asked.",
    ),
  ),
  pendingKey: optional(
    object(
      "The key that the operator is about to make; there while a rotation or a first creation is under way.",
      keyRecord.properties,
    ),
  ),
  phase: optional(word<Phase>("Pending until one daemon is ready, then Ready.")),
  provisionerKeyID: optional(text("Identifier of the key in use.")),
  provisionerKeyName: optional(text("Name of the key in use.")),
  retiredKeys: optional(
    list("Keys that were replaced, to be deleted when the daemons run with the new one.", keyRecord, atomic),
  ),
  secretRef: optional(recordedSecretRef("Where the key is.")),
  tagsHash: optional(text("Hash of the tags of the key.")),
  workspaceNamespaces: optional(workspaceNamespaces),
});

export type ProvisionerSpec = Static<typeof provisionerSpec>;
export type ProvisionerStatus = Static<typeof provisionerStatus>;
export type ProvisionerKeyRecord = Static<typeof keyRecord>;

export const provisioner: KindDescription = {
  shortName: "cprov",
  description: "External provisioner daemons of a control plane, with their key, permissions and Deployment.",
  spec: provisionerSpec,
  status: provisionerStatus,
  rules: [
    specRequired("controlPlaneRef.name is required: name a CoderControlPlane of the same namespace"),
    numberFollowsQueue,
  ],
  scalable: true,
  columns: [
    ...readinessColumns,
    ...podsColumns,
    column("Control Plane", ".spec.controlPlaneRef.name", "Control plane that the daemons work for."),
    wideColumn("Organization", ".status.organizationName", "Organization that the daemons serve."),
    wideColumn("Key", ".status.provisionerKeyName", "Name of the key in use."),
    ...lastColumns,
  ],
};
