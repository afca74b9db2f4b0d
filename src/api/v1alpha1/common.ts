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

/** A reference to a key in a Secret in the same namespace. */
export function secretKeyRef(description: string, defaultKey: string, options: { default?: string } = {}) {
  return object(description, {
    key: optional(secretDataKey(`Key in the Secret's data. Defaults to \`${defaultKey}\`.`, options)),
    name: objectName("Name of a Secret in the same namespace."),
  });
}
export type SecretKeyRef = Static<ReturnType<typeof secretKeyRef>>;

/** Location of a value that the operator stored. Status only, so it needs no validation. */
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

/** Status fields of every kind. */
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

const conditionPath = (type: string, field: string) => `.status.conditions[?(@.type=="${type}")].${field}`;

/** The first columns of every kind: whether the object is ready, and the reason. */
export const readinessColumns: readonly PrinterColumn[] = [
  column("Ready", conditionPath("Ready", "status"), "Whether the object matches its spec."),
  column("Reason", conditionPath("Ready", "reason"), "Reason of the Ready condition."),
  wideColumn("Phase", ".status.phase", "Pending, or Ready if at least one pod is ready."),
];

/** Ready and desired pods. The numeric column is for existing scripts. */
export const podsColumns: readonly PrinterColumn[] = [
  column("Pods", ".status.pods", "Number of ready and desired pods."),
  { ...wideColumn("Replicas", ".status.readyReplicas", "Number of ready pods."), type: "integer" },
];

export const lastColumns: readonly PrinterColumn[] = [
  // Empty for most objects, but essential for an object that does not change.
  column(
    "Paused",
    conditionPath("Paused", "status"),
    "True if the annotation coder.com/paused suspends reconciliation.",
  ),
  { ...column("Age", ".metadata.creationTimestamp", "Time since creation."), type: "date" },
];

/** `Ready` if at least one pod is ready. */
export type Phase = "Pending" | "Ready";

/*
 * Rules on the whole object run on every write, including writes of the status or finalizers. They must
 * accept objects that were stored before the rule existed; otherwise, such objects could not be deleted.
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

/** For kinds whose Service has the same name. Shortening handles all other invalid names. */
export const nameWithoutDot: Rule = {
  rule: "oldSelf.hasValue() || !self.metadata.name.contains('.')",
  message: "must not contain a dot: the Service has the same name",
  fieldPath: ".metadata.name",
  optionalOldSelf: true,
};
