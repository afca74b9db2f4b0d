import {
  lastColumns,
  nameWithoutDot,
  type Phase,
  podsColumns,
  readinessColumns,
  recordedSecretRef,
  secretKeyRef,
  specRequired,
  statusFields,
  tls,
} from "./common.ts";
import {
  livenessProbeDefault,
  readinessProbeDefault,
  tokenSecretKey,
  workspaceProxyDefaults,
} from "./defaults.ts";
import { expose } from "./expose.ts";
import { httpURL, objectName, optionalHttpURL } from "./names.ts";
import { certs, livenessProbe, podFields, readinessProbe, replicas } from "./pod.ts";
import {
  column,
  flag,
  type KindDescription,
  object,
  optional,
  type Rule,
  rules,
  type Static,
  text,
  time,
  wideColumn,
  word,
} from "./schema.ts";
import { service } from "./service.ts";

const proxyName = text("Name of the proxy in coderd. Defaults to the name of the object.", {
  maxLength: 253,
  ...rules({
    rule: "self.lowerAscii() != 'primary'",
    message: "must not be primary, which coderd reserves for itself",
  }),
});

/** How the proxy appears in coderd, independent of the credentials. */
const registrationFields = {
  displayName: optional(text("Display name in the dashboard.")),
  generatedTokenSecretName: optional(
    objectName(
      "Name of the Secret that stores the token of the proxy. Defaults to the name of the object followed by `-proxy-token`.",
    ),
  ),
  icon: optional(text("Path or URL of the icon in the dashboard.")),
  proxyName: optional(proxyName),
};

const registration = object("Registration of the proxy. Requires controlPlaneRef.", registrationFields);

const bootstrap = object("Registers the proxy in the coderd at the given URL.", {
  ...registrationFields,
  coderURL: httpURL("URL of coderd."),
  credentialsSecretRef: secretKeyRef(
    "Secret with a session token that is allowed to manage workspace proxies.",
    tokenSecretKey,
  ),
});

const controlPlaneRef = object(
  "Registers the proxy in a control plane of the same namespace, with its operator token.",
  { name: objectName("Name of a CoderControlPlane in the same namespace.") },
);

const credentialsNeeded =
  "must specify controlPlaneRef, bootstrap, or proxySessionTokenSecretRef with primaryAccessURL";

/**
 * For compatibility, bootstrap may be combined with a token, and bootstrap takes precedence. controlPlaneRef
 * excludes both.
 */
const credentialRules: readonly Rule[] = [
  {
    rule: "has(self.controlPlaneRef) || has(self.bootstrap) || has(self.proxySessionTokenSecretRef)",
    message: credentialsNeeded,
    fieldPath: ".controlPlaneRef",
    reason: "FieldValueRequired",
  },
  {
    rule: "!has(self.controlPlaneRef) || (!has(self.bootstrap) && !has(self.proxySessionTokenSecretRef))",
    message: "controlPlaneRef cannot be combined with bootstrap or proxySessionTokenSecretRef",
    fieldPath: ".controlPlaneRef",
  },
  {
    rule: "!has(self.registration) || has(self.controlPlaneRef)",
    message: "registration requires controlPlaneRef; bootstrap has the same fields",
    fieldPath: ".registration",
  },
  {
    rule: "has(self.controlPlaneRef) || has(self.bootstrap) || !has(self.proxySessionTokenSecretRef) || (has(self.primaryAccessURL) && self.primaryAccessURL != '')",
    message: "proxySessionTokenSecretRef requires primaryAccessURL, the URL of coderd",
    fieldPath: ".primaryAccessURL",
    reason: "FieldValueRequired",
  },
];

const workspaceProxySpec = object(
  "Desired state of the workspace proxy.",
  {
    ...podFields,
    bootstrap: optional(bootstrap),
    certs: optional(certs()),
    controlPlaneRef: optional(controlPlaneRef),
    derpOnly: optional(flag("Only relays connections (DERP) and does not serve workspace applications.")),
    expose: optional(expose),
    image: optional(
      text(
        `Container image for the proxy. Defaults to the image of the control plane in controlPlaneRef, otherwise \`${workspaceProxyDefaults.image}\`.`,
      ),
    ),
    livenessProbe: optional(
      livenessProbe("Liveness probe that requests /healthz. Disabled by default.", {
        default: livenessProbeDefault,
      }),
    ),
    primaryAccessURL: optional(
      optionalHttpURL(
        "URL of coderd for the proxy and for browsers that the proxy redirects. Defaults to the access URL of the control plane, or bootstrap.coderURL.",
      ),
    ),
    proxySessionTokenSecretRef: optional(
      secretKeyRef("Secret with the token of a proxy that is already registered.", tokenSecretKey),
    ),
    readinessProbe: optional(
      readinessProbe("Readiness probe that requests /healthz. Enabled by default.", {
        default: readinessProbeDefault,
      }),
    ),
    registration: optional(registration),
    replicas: optional(replicas("Number of proxy pods.", { default: workspaceProxyDefaults.replicas })),
    service: optional(service),
    tls: optional(tls()),
  },
  rules(...credentialRules),
);

const workspaceProxyStatus = object("Most recently observed state of the workspace proxy.", {
  ...statusFields,
  bootstrapTokenExpires: optional(
    time(
      "Time at which the token from spec.bootstrap.credentialsSecretRef expires. The operator does not renew it.",
    ),
  ),
  coderURL: optional(text("URL of the coderd in which the proxy is registered.")),
  health: optional(
    text(
      "Health that coderd reports: ok, unreachable, unhealthy or unregistered. Unknown while coderd is unreachable.",
    ),
  ),
  phase: optional(word<Phase>("Ready if at least one pod is ready, otherwise Pending.")),
  proxyID: optional(text("ID of the proxy in coderd.")),
  proxyName: optional(text("Name of the proxy in coderd.")),
  proxyTokenSecretRef: optional(recordedSecretRef("Location of the proxy's token.")),
  registered: optional(flag("Whether the operator registered the proxy in coderd.")),
});

export type WorkspaceProxySpec = Static<typeof workspaceProxySpec>;
export type WorkspaceProxyStatus = Static<typeof workspaceProxyStatus>;
export type ProxyRegistration = Static<typeof registration>;

export const workspaceProxy: KindDescription = {
  shortName: "cwp",
  description:
    "CoderWorkspaceProxy runs a workspace proxy and manages its registration, Deployment, Service and exposure.",
  spec: workspaceProxySpec,
  status: workspaceProxyStatus,
  rules: [specRequired(credentialsNeeded), nameWithoutDot],
  scalable: true,
  columns: [
    ...readinessColumns,
    ...podsColumns,
    { ...column("Registered", ".status.registered", "Whether the proxy is registered."), type: "boolean" },
    column("Health", ".status.health", "Health that coderd reports."),
    wideColumn("Proxy", ".status.proxyName", "Name of the proxy in coderd."),
    ...lastColumns,
  ],
};
