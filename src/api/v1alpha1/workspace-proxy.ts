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

const proxyName = text("Name of the proxy at coderd; absent means the name of this object.", {
  maxLength: 253,
  ...rules({
    rule: "self.lowerAscii() != 'primary'",
    message: "coderd calls itself primary: choose another name",
  }),
});

/** How the proxy presents itself at coderd, however the operator got in there. */
const registrationFields = {
  displayName: optional(text("Name that users see in the dashboard.")),
  generatedTokenSecretName: optional(
    objectName(
      "Secret in which the operator keeps the proxy's token; absent means the name with `-proxy-token`.",
    ),
  ),
  icon: optional(text("Path or URL of the icon that users see in the dashboard.")),
  proxyName: optional(proxyName),
};

const registration = object("How the proxy is registered by controlPlaneRef.", registrationFields);

const bootstrap = object("Registers the proxy at a coderd given by its URL.", {
  ...registrationFields,
  coderURL: httpURL("URL of coderd."),
  credentialsSecretRef: secretKeyRef(
    "Secret with a session token that may manage workspace proxies.",
    tokenSecretKey,
  ),
});

const controlPlaneRef = object(
  "Registers the proxy at a control plane of this cluster, with its operator token.",
  { name: objectName("Name of a CoderControlPlane in the same namespace.") },
);

const credentialsNeeded =
  "the proxy needs credentials: give controlPlaneRef, bootstrap, or proxySessionTokenSecretRef with primaryAccessURL";

/**
 * A manifest with bootstrap and a token at once has always been accepted, and bootstrap wins; only the new
 * way, controlPlaneRef, tolerates no other beside it.
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
    message: "controlPlaneRef brings its own credentials: leave bootstrap and proxySessionTokenSecretRef out",
    fieldPath: ".controlPlaneRef",
  },
  {
    rule: "!has(self.registration) || has(self.controlPlaneRef)",
    message: "registration goes with controlPlaneRef: bootstrap has these fields itself",
    fieldPath: ".registration",
  },
  {
    rule: "has(self.controlPlaneRef) || has(self.bootstrap) || !has(self.proxySessionTokenSecretRef) || (has(self.primaryAccessURL) && self.primaryAccessURL != '')",
    message: "proxySessionTokenSecretRef needs primaryAccessURL: give the URL of coderd",
    fieldPath: ".primaryAccessURL",
    reason: "FieldValueRequired",
  },
];

const workspaceProxySpec = object(
  "What the workspace proxy should be.",
  {
    ...podFields,
    bootstrap: optional(bootstrap),
    certs: optional(certs()),
    controlPlaneRef: optional(controlPlaneRef),
    derpOnly: optional(flag("Relay connections only, and serve no workspace applications.")),
    expose: optional(expose),
    image: optional(
      text(
        `Container image of the proxy; absent means the image of the control plane that is referred to, else \`${workspaceProxyDefaults.image}\`.`,
      ),
    ),
    livenessProbe: optional(
      livenessProbe("Restarts the proxy when /healthz stops answering. Off by default.", {
        default: livenessProbeDefault,
      }),
    ),
    primaryAccessURL: optional(
      optionalHttpURL(
        "URL of coderd for the proxy, and for the browsers that it sends there; absent means the control plane's access URL, or the URL of bootstrap.",
      ),
    ),
    proxySessionTokenSecretRef: optional(
      secretKeyRef("Secret with the token of a proxy that is registered already.", tokenSecretKey),
    ),
    readinessProbe: optional(
      readinessProbe("Sends traffic only to pods whose /healthz answers. On by default.", {
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

const workspaceProxyStatus = object("What the workspace proxy is, as the operator last saw it.", {
  ...statusFields,
  bootstrapTokenExpires: optional(
    time("End of the token that spec.bootstrap.credentialsSecretRef names; nobody renews it."),
  ),
  coderURL: optional(text("URL of the coderd at which the proxy is registered.")),
  health: optional(
    text(
      "Health as coderd sees it: ok, unreachable, unhealthy or unregistered; unknown while it can't be asked.",
    ),
  ),
  phase: optional(word<Phase>("Pending until one pod is ready, then Ready.")),
  proxyID: optional(text("Identifier of the proxy at coderd.")),
  proxyName: optional(text("Name of the proxy at coderd.")),
  proxyTokenSecretRef: optional(recordedSecretRef("Where the proxy's token is.")),
  registered: optional(flag("Whether the operator registered the proxy at coderd.")),
});

export type WorkspaceProxySpec = Static<typeof workspaceProxySpec>;
export type WorkspaceProxyStatus = Static<typeof workspaceProxyStatus>;
export type ProxyRegistration = Static<typeof registration>;

export const workspaceProxy: KindDescription = {
  shortName: "cwp",
  description:
    "A workspace proxy of a Coder deployment, with its registration, Deployment, Service and exposure.",
  spec: workspaceProxySpec,
  status: workspaceProxyStatus,
  rules: [specRequired(credentialsNeeded), nameWithoutDot],
  scalable: true,
  columns: [
    ...readinessColumns,
    ...podsColumns,
    { ...column("Registered", ".status.registered", "Whether coderd knows it."), type: "boolean" },
    column("Health", ".status.health", "Health as coderd sees it."),
    wideColumn("Proxy", ".status.proxyName", "Name of the proxy at coderd."),
    ...lastColumns,
  ],
};
