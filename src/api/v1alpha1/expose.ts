import { host, namespaceName, objectName, optionalHost } from "./names.ts";
import {
  choice,
  flag,
  int32,
  list,
  object,
  optional,
  type Rule,
  rules,
  type Static,
  stringMap,
  text,
} from "./schema.ts";

const port = (description: string) => int32(description, { minimum: 1, maximum: 65535 });

const ingressTls = object("TLS terminated by the ingress controller.", {
  secretName: optional(objectName("Secret that contains the certificate for the host.")),
  wildcardSecretName: optional(objectName("Secret that contains the certificate for the wildcard host.")),
});

const hosts = {
  host: host("Host name at which users reach Coder."),
  wildcardHost: optional(
    optionalHost("Wildcard host name for workspace applications, such as *.coder.example.com."),
  ),
};

const ingress = object(
  "Exposes Coder with an Ingress.",
  {
    ...hosts,
    annotations: optional(
      stringMap("Annotations of the Ingress, for example to configure the ingress controller."),
    ),
    className: optional(text("Name of the IngressClass. Defaults to the default class of the cluster.")),
    tls: optional(ingressTls),
  },
  rules({
    rule: "!has(self.tls) || !has(self.tls.wildcardSecretName) || (has(self.wildcardHost) && self.wildcardHost != '')",
    message: "tls.wildcardSecretName requires wildcardHost",
    fieldPath: ".wildcardHost",
  }),
);
export type IngressExposure = Static<typeof ingress>;

const parentRef = object("A Gateway or ListenerSet that the route attaches to.", {
  kind: optional(choice("Kind of the parent. Defaults to Gateway.", ["Gateway", "ListenerSet"])),
  name: objectName("Name of the Gateway or ListenerSet."),
  namespace: optional(
    namespaceName("Namespace of the Gateway or ListenerSet. Defaults to the namespace of the object."),
  ),
  port: optional(port("Port of the listeners to attach to. Defaults to any port.")),
  sectionName: optional(objectName("Name of the listener to attach to. Defaults to all matching listeners.")),
});
// The limit of HTTPRoute.
const parentLimits = { minItems: 1, maxItems: 32 };

const httpsRedirect = object("An HTTPRoute that redirects HTTP requests to HTTPS.", {
  annotations: optional(stringMap("Annotations of this HTTPRoute.")),
  parentRefs: list("HTTP listeners that the route attaches to.", parentRef, parentLimits),
});

const listener = object("A port and host name on which the Gateway listens.", {
  hostname: optional(host("Host name, which may be a wildcard. Defaults to any host name.")),
  name: objectName("Name of the listener."),
  port: port("Port on the addresses of the Gateway."),
  protocol: choice("Protocol of the listener.", ["HTTP", "HTTPS"]),
  tls: optional(
    object("TLS configuration of the listener.", {
      certificateRefs: list(
        "Secrets with certificates.",
        object("A Secret that contains a certificate.", {
          name: objectName("Name of the Secret."),
          namespace: optional(
            namespaceName(
              "Namespace of the Secret. Defaults to the namespace of the object. Any other namespace requires a ReferenceGrant.",
            ),
          ),
        }),
        { minItems: 1, maxItems: 64 },
      ),
    }),
  ),
});

const listenerSet = object(
  "A ListenerSet that adds listeners to a Gateway. It has the name of the Service. Requires Gateway API 1.5.",
  {
    annotations: optional(
      stringMap("Annotations of the ListenerSet, for example to configure cert-manager."),
    ),
    listeners: list("The listeners.", listener, { minItems: 1, maxItems: 64 }),
    parentRef: object("The Gateway to add the listeners to.", {
      name: objectName("Name of the Gateway."),
      namespace: optional(
        namespaceName("Namespace of the Gateway or ListenerSet. Defaults to the namespace of the object."),
      ),
    }),
  },
);

const gateway = object("Exposes Coder with an HTTPRoute of the Gateway API.", {
  ...hosts,
  annotations: optional(stringMap("Annotations of the HTTPRoute.")),
  httpsRedirect: optional(httpsRedirect),
  listenerSet: optional(listenerSet),
  parentRefs: list("Gateways and ListenerSets that the route attaches to.", parentRef, parentLimits),
});
export type GatewayExposure = Static<typeof gateway>;

const exposeDescription = "Exposes Coder outside the cluster, with either an Ingress or a Gateway.";
const exposeFields = { gateway: optional(gateway), ingress: optional(ingress) };
const oneExposure: Rule = {
  rule: "!(has(self.ingress) && has(self.gateway))",
  message: "ingress and gateway are mutually exclusive",
};

export const expose = object(exposeDescription, exposeFields, rules(oneExposure));
export type ExposeSpec = Static<typeof expose>;

/** The access URL of a control plane can differ from the host of its exposure. */
export const controlPlaneExpose = object(
  exposeDescription,
  {
    ...exposeFields,
    setAccessURL: optional(
      flag(
        "Sets CODER_ACCESS_URL to the URL of the exposure, unless extraEnv or envFrom sets it. The scheme is https for a Gateway and for an Ingress with tls.secretName, otherwise http.",
      ),
    ),
  },
  rules(oneExposure, {
    rule: "!has(self.setAccessURL) || !self.setAccessURL || has(self.ingress) || has(self.gateway)",
    message: "setAccessURL requires ingress or gateway",
    fieldPath: ".setAccessURL",
  }),
);
