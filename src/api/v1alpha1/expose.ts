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

const ingressTls = object("TLS at the ingress controller.", {
  secretName: optional(objectName("Secret with the certificate of the host.")),
  wildcardSecretName: optional(objectName("Secret with the certificate of the wildcard host.")),
});

const hosts = {
  host: host("Host name under which users reach the deployment."),
  wildcardHost: optional(
    optionalHost("Wildcard host for workspace applications, such as *.coder.example.com."),
  ),
};

const ingress = object(
  "Exposure by an Ingress.",
  {
    ...hosts,
    annotations: optional(stringMap("Annotations of the Ingress, mostly for its controller.")),
    className: optional(text("Class of the Ingress; absent means the cluster's default class.")),
    tls: optional(ingressTls),
  },
  rules({
    rule: "!has(self.tls) || !has(self.tls.wildcardSecretName) || (has(self.wildcardHost) && self.wildcardHost != '')",
    message: "tls.wildcardSecretName needs a wildcardHost: name the wildcard host or leave the Secret out",
    fieldPath: ".wildcardHost",
  }),
);
export type IngressExposure = Static<typeof ingress>;

const parentRef = object("A Gateway or ListenerSet that carries the route.", {
  kind: optional(choice("What carries the route; absent means a Gateway.", ["Gateway", "ListenerSet"])),
  name: objectName("Name of the Gateway or ListenerSet."),
  namespace: optional(namespaceName("Its namespace; absent means the object's own.")),
  port: optional(port("Port of the listeners to attach to; absent means any.")),
  sectionName: optional(objectName("Listener to attach to; absent means all that fit.")),
});
// HTTPRoute itself takes no more parents than this.
const someParents = { minItems: 1, maxItems: 32 };

const httpsRedirect = object("An HTTPRoute that sends plain HTTP requests on to HTTPS.", {
  annotations: optional(stringMap("Annotations of this HTTPRoute.")),
  parentRefs: list("Listeners for plain HTTP that the route attaches to.", parentRef, someParents),
});

const listener = object("A port and host at which the Gateway listens.", {
  hostname: optional(host("Host name, also with a wildcard; absent means any.")),
  name: objectName("Name of the listener."),
  port: port("Port at the addresses of the Gateway."),
  protocol: choice("What it speaks.", ["HTTP", "HTTPS"]),
  tls: optional(
    object("What it serves HTTPS with.", {
      certificateRefs: list(
        "Secrets with certificates.",
        object("A Secret with a certificate.", {
          name: objectName("Name of the Secret."),
          namespace: optional(
            namespaceName(
              "Namespace of the Secret; absent means the object's own. Another one needs a ReferenceGrant.",
            ),
          ),
        }),
        { minItems: 1, maxItems: 64 },
      ),
    }),
  ),
});

const listenerSet = object(
  "A ListenerSet, named as the Service: listeners of one's own at a Gateway that allows them. Needs the Gateway API 1.5.",
  {
    annotations: optional(stringMap("Annotations of the ListenerSet, for example for cert-manager.")),
    listeners: list("The listeners.", listener, { minItems: 1, maxItems: 64 }),
    parentRef: object("The Gateway that gets the listeners.", {
      name: objectName("Name of the Gateway."),
      namespace: optional(namespaceName("Its namespace; absent means the object's own.")),
    }),
  },
);

const gateway = object("Exposure by an HTTPRoute of the Gateway API.", {
  ...hosts,
  annotations: optional(stringMap("Annotations of the HTTPRoute.")),
  httpsRedirect: optional(httpsRedirect),
  listenerSet: optional(listenerSet),
  parentRefs: list("Gateways and ListenerSets that the route attaches to.", parentRef, someParents),
});
export type GatewayExposure = Static<typeof gateway>;

const exposeDescription =
  "How the deployment is reached from outside the cluster: by an Ingress or by a Gateway, never both.";
const exposeFields = { gateway: optional(gateway), ingress: optional(ingress) };
const oneExposure: Rule = {
  rule: "!(has(self.ingress) && has(self.gateway))",
  message: "give either ingress or gateway, not both",
};

export const expose = object(exposeDescription, exposeFields, rules(oneExposure));
export type ExposeSpec = Static<typeof expose>;

/** A control plane has an access URL that may be another than that of its exposure. */
export const controlPlaneExpose = object(
  exposeDescription,
  {
    ...exposeFields,
    setAccessURL: optional(
      flag(
        "Set CODER_ACCESS_URL to the URL of the exposure unless extraEnv or envFrom sets it: https for a Gateway and for an Ingress with tls.secretName, else http.",
      ),
    ),
  },
  rules(oneExposure, {
    rule: "!has(self.setAccessURL) || !self.setAccessURL || has(self.ingress) || has(self.gateway)",
    message: "setAccessURL needs an exposure: give ingress or gateway",
    fieldPath: ".setAccessURL",
  }),
);
