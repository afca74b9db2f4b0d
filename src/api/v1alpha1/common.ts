import type { V1Condition } from "@kubernetes/client-node";
import type { Wire } from "kube-controller-runtime";
import { host, namespaceName, objectName, optionalHost, secretDataKey } from "./names.ts";
import {
  flag,
  int32,
  int64,
  kubeList,
  list,
  object,
  optional,
  type PrinterColumn,
  type Rule,
  rules,
  type Static,
  stringMap,
  text,
} from "./schema.ts";

/** Names one value: a Secret in the object's namespace and a key of its data. */
export function secretKeyRef(description: string, defaultKey: string, options: { default?: string } = {}) {
  return object(description, {
    key: optional(
      secretDataKey(`Key of the Secret's data. Absent or empty means \`${defaultKey}\`.`, options),
    ),
    name: objectName("Name of the Secret, in the object's namespace."),
  });
}
const secretKeyRefSchema = secretKeyRef("", "");
export type SecretKeyRef = Static<typeof secretKeyRefSchema>;

/** Where the operator put a value; status only, so nothing is validated. */
export function recordedSecretRef(description: string) {
  return object(description, {
    key: optional(text("Key of the Secret's data.")),
    name: text("Name of the Secret, in the object's namespace."),
  });
}

export function tls(options: { default?: object } = {}) {
  return object(
    "TLS served by the pods themselves. It is on as soon as a Secret is named.",
    {
      secretNames: optional(
        list(
          "Secrets of type kubernetes.io/tls, one for each certificate to serve.",
          objectName("Name of a Secret with tls.crt and tls.key, in the object's namespace."),
        ),
      ),
    },
    options,
  );
}
const tlsSchema = tls();
export type TlsSpec = Static<typeof tlsSchema>;

const ingressTls = object("TLS at the ingress controller.", {
  secretName: optional(objectName("Secret with the certificate of the host.")),
  wildcardSecretName: optional(objectName("Secret with the certificate of the wildcard host.")),
});

const ingress = object(
  "Exposure by an Ingress.",
  {
    annotations: optional(stringMap("Annotations of the Ingress, mostly for its controller.")),
    className: optional(text("Class of the Ingress; absent means the cluster's default class.")),
    host: host("Host name under which users reach the deployment."),
    tls: optional(ingressTls),
    wildcardHost: optional(
      optionalHost("Wildcard host for workspace applications, such as *.coder.example.com."),
    ),
  },
  rules({
    rule: "!has(self.tls) || !has(self.tls.wildcardSecretName) || (has(self.wildcardHost) && self.wildcardHost != '')",
    message: "tls.wildcardSecretName needs a wildcardHost: name the wildcard host or leave the Secret out",
    fieldPath: ".wildcardHost",
  }),
);
export type IngressExposure = Static<typeof ingress>;

const parentRef = object("A Gateway that carries the route.", {
  name: objectName("Name of the Gateway."),
  namespace: optional(namespaceName("Namespace of the Gateway; absent means the object's own.")),
  sectionName: optional(objectName("Listener of the Gateway; absent means all that fit.")),
});

/** HTTPRoute itself takes no more parents than this. */
const maxParentRefs = 32;

const gateway = object("Exposure by an HTTPRoute of the Gateway API.", {
  host: host("Host name under which users reach the deployment."),
  parentRefs: list("Gateways that the route attaches to.", parentRef, {
    minItems: 1,
    maxItems: maxParentRefs,
  }),
  wildcardHost: optional(
    optionalHost("Wildcard host for workspace applications, such as *.coder.example.com."),
  ),
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

/** Fields that the status of every kind has. */
export const statusFields = {
  conditions: optional(
    kubeList<Wire<V1Condition>>(
      "What works and what does not, one entry for each stage, with a reason and what to do.",
      "io.k8s.apimachinery.pkg.apis.meta.v1.Condition",
      { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] },
    ),
  ),
  images: optional(
    list("Images that the pods run, with the digests that were pulled.", text("Image with its digest."), {
      "x-kubernetes-list-type": "atomic",
    }),
  ),
  observedGeneration: optional(int64("Generation of the spec that this status describes.")),
  pods: optional(text("Pods that are ready and pods that are wanted, as `2/3`.")),
  readyReplicas: optional(int32("Pods that are ready.")),
  replicas: optional(int32("Pods that there are, ready or not, old ones of a rollout among them.")),
  selector: optional(text("Labels by which the pods are found, as kubectl's -l takes them.")),
};
export type Condition = Wire<V1Condition>;

const ofReady = (field: string) => `.status.conditions[?(@.type=="Ready")].${field}`;

/** The first columns of every kind: whether it is as its manifest says, and why not. */
export const readinessColumns: readonly PrinterColumn[] = [
  {
    name: "Ready",
    type: "string",
    jsonPath: ofReady("status"),
    description: "Whether it is as its manifest says.",
  },
  { name: "Reason", type: "string", jsonPath: ofReady("reason"), description: "Why it is ready or not." },
  {
    name: "Phase",
    type: "string",
    jsonPath: ".status.phase",
    description: "Pending, or Ready once a pod is.",
    priority: 1,
  },
];

/** How many pods are ready, of how many; the bare number is for those who have read it before. */
export const podsColumns: readonly PrinterColumn[] = [
  {
    name: "Pods",
    type: "string",
    jsonPath: ".status.pods",
    description: "Pods that are ready, of those that are wanted.",
  },
  {
    name: "Replicas",
    type: "integer",
    jsonPath: ".status.readyReplicas",
    description: "Pods that are ready.",
    priority: 1,
  },
];

/** Empty for most objects, and the first thing to know about one that does not change. */
export const pausedColumn: PrinterColumn = {
  name: "Paused",
  type: "string",
  jsonPath: '.status.conditions[?(@.type=="Paused")].status',
  description: "True while the annotation coder.com/paused keeps the operator from working for the object.",
};

/** `Ready` as soon as one pod is ready. */
export type Phase = "Pending" | "Ready";

/*
 * Rules over whole objects run at every write, also when only status or finalizers change. They let pass what
 * was stored before they existed, or such an object could not even be deleted.
 */

export function specRequired(message: string): Rule {
  return {
    rule: "has(self.spec) || (oldSelf.hasValue() && !has(oldSelf.value().spec))",
    message,
    fieldPath: ".spec",
    reason: "FieldValueRequired",
    optionalOldSelf: true,
  };
}

/** For kinds with a Service of their own name: all else that is wrong with a name, shortening repairs. */
export const nameWithoutDot: Rule = {
  rule: "oldSelf.hasValue() || !self.metadata.name.contains('.')",
  message: "the Service is named after this object, and the name of a Service cannot contain a dot",
  fieldPath: ".metadata.name",
  optionalOldSelf: true,
};
