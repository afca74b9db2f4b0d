import type { V1Condition } from "@kubernetes/client-node";
import type { Wire } from "kube-controller-runtime";
import { objectName, secretDataKey } from "./names.ts";
import {
  atomic,
  column,
  int32,
  int64,
  kubeList,
  list,
  object,
  optional,
  type PrinterColumn,
  type Rule,
  type Static,
  text,
  wideColumn,
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
export type SecretKeyRef = Static<ReturnType<typeof secretKeyRef>>;

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
export type TlsSpec = Static<ReturnType<typeof tls>>;

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
    list(
      "Images that the pods run, with the digests that were pulled.",
      text("Image with its digest."),
      atomic,
    ),
  ),
  observedGeneration: optional(int64("Generation of the spec that this status describes.")),
  pods: optional(text("Pods that are ready and pods that are wanted, as `2/3`.")),
  readyReplicas: optional(int32("Pods that are ready.")),
  replicas: optional(int32("Pods that there are, ready or not, old ones of a rollout among them.")),
  selector: optional(text("Labels by which the pods are found, as kubectl's -l takes them.")),
};
export type Condition = Wire<V1Condition>;

const ofCondition = (type: string, field: string) => `.status.conditions[?(@.type=="${type}")].${field}`;

/** The first columns of every kind: whether it is as its manifest says, and why not. */
export const readinessColumns: readonly PrinterColumn[] = [
  column("Ready", ofCondition("Ready", "status"), "Whether it is as its manifest says."),
  column("Reason", ofCondition("Ready", "reason"), "Why it is ready or not."),
  wideColumn("Phase", ".status.phase", "Pending, or Ready once a pod is."),
];

/** How many pods are ready, of how many; the bare number is for those who have read it before. */
export const podsColumns: readonly PrinterColumn[] = [
  column("Pods", ".status.pods", "Pods that are ready, of those that are wanted."),
  { ...wideColumn("Replicas", ".status.readyReplicas", "Pods that are ready."), type: "integer" },
];

/** The last columns of every kind. */
export const lastColumns: readonly PrinterColumn[] = [
  // Empty for most objects, and the first thing to know about one that does not change.
  column(
    "Paused",
    ofCondition("Paused", "status"),
    "True while the annotation coder.com/paused keeps the operator from working for the object.",
  ),
  { ...column("Age", ".metadata.creationTimestamp", "Time since creation."), type: "date" },
];

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
