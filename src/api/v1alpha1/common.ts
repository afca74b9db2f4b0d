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
    key: optional(secretDataKey(`Key in the Secret's data. Defaults to \`${defaultKey}\`.`, options)),
    name: objectName("Name of a Secret in the same namespace."),
  });
}
export type SecretKeyRef = Static<ReturnType<typeof secretKeyRef>>;

/** Where the operator put a value; status only, so nothing is validated. */
export function recordedSecretRef(description: string) {
  return object(description, {
    key: optional(text("Key in the Secret's data.")),
    name: text("Name of a Secret in the same namespace."),
  });
}

export function tls(options: { default?: object } = {}) {
  return object(
    "TLS terminated by the pods. Enabled if at least one Secret is listed.",
    {
      secretNames: optional(
        list(
          "Secrets of type kubernetes.io/tls, one per certificate.",
          objectName("Name of a Secret with tls.crt and tls.key in the same namespace."),
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
      "Latest observations of the object's state. The message of a condition that reports a problem says what to do.",
      "io.k8s.apimachinery.pkg.apis.meta.v1.Condition",
      { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] },
    ),
  ),
  images: optional(
    list("Images that the pods run, with their digests.", text("Image with its digest."), atomic),
  ),
  observedGeneration: optional(int64("Most recent generation observed by the operator.")),
  pods: optional(text("Number of ready and desired pods, such as `2/3`.")),
  readyReplicas: optional(int32("Number of ready pods.")),
  replicas: optional(
    int32("Total number of pods, including pods that are not ready and old pods during a rollout."),
  ),
  selector: optional(
    text("Label selector for the pods, in the string form that the scale subresource needs."),
  ),
};
export type Condition = Wire<V1Condition>;

const ofCondition = (type: string, field: string) => `.status.conditions[?(@.type=="${type}")].${field}`;

/** The first columns of every kind: whether it is as its manifest says, and why not. */
export const readinessColumns: readonly PrinterColumn[] = [
  column("Ready", ofCondition("Ready", "status"), "Whether the object matches its spec."),
  column("Reason", ofCondition("Ready", "reason"), "Reason of the Ready condition."),
  wideColumn("Phase", ".status.phase", "Pending, or Ready if at least one pod is ready."),
];

/** How many pods are ready, of how many; the bare number is for those who have read it before. */
export const podsColumns: readonly PrinterColumn[] = [
  column("Pods", ".status.pods", "Number of ready and desired pods."),
  { ...wideColumn("Replicas", ".status.readyReplicas", "Number of ready pods."), type: "integer" },
];

/** The last columns of every kind. */
export const lastColumns: readonly PrinterColumn[] = [
  // Empty for most objects, and the first thing to know about one that does not change.
  column(
    "Paused",
    ofCondition("Paused", "status"),
    "True if the annotation coder.com/paused suspends reconciliation.",
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
  message: "must not contain a dot: the Service has the same name",
  fieldPath: ".metadata.name",
  optionalOldSelf: true,
};
