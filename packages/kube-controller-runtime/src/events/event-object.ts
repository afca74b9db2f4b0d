import { type Random, timestamp } from "../clock.ts";
import { CoreEvent } from "../kinds.ts";
import type { KubeObject } from "../object.ts";
import type { Occurrence, Series } from "./correlator.ts";

export type Regarding = NonNullable<CoreEvent["involvedObject"]>;

/**
 * The reporter: `component` is the `From` column of `kubectl describe`, `instance` identifies the process.
 */
export interface Reporter {
  readonly component: string;
  readonly instance: string;
}

const MAX_MESSAGE_LENGTH = 1_024;
const MAX_NAME_LENGTH = 253;
/** The namespace for Events about cluster-scoped objects, by Kubernetes' rule. */
const CLUSTER_SCOPED_NAMESPACE = "default";

/** The reference to the subject of an Event. */
export function regarding({ apiVersion, kind, metadata = {} }: KubeObject): Regarding {
  const { namespace, name, uid, resourceVersion } = metadata;
  const reference = { apiVersion, kind, namespace, name, uid, resourceVersion };
  return Object.fromEntries(Object.entries(reference).filter(([, value]) => value !== undefined));
}

export function eventRef(subject: Regarding, name: string) {
  return { namespace: subject.namespace ?? CLUSTER_SCOPED_NAMESPACE, name };
}

/** `<object>.<16 hex digits>`: unique, and valid for any name of an object. */
export function eventName(subject: Regarding, random: Random): string {
  const hex = () =>
    Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, "0");
  const suffix = `.${hex()}${hex()}`;
  const base = (subject.name ?? "").toLowerCase().replace(/[^a-z0-9.-]/g, "-");
  const cut = base.slice(0, MAX_NAME_LENGTH - suffix.length).replace(/[^a-z0-9]+$/, "");
  return `${cut || "event"}${suffix}`;
}

/** The fields that change when an occurrence is repeated. */
export function repetition(series: Series, { message }: Occurrence) {
  return {
    count: series.count,
    lastTimestamp: timestamp(series.lastMs),
    message: message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed(),
  };
}

export function newEvent(
  metadata: ReturnType<typeof eventRef>,
  { component, instance }: Reporter,
  { series, subject, occurrence }: { series: Series; subject: Regarding; occurrence: Occurrence },
): CoreEvent {
  return {
    apiVersion: CoreEvent.apiVersion,
    kind: CoreEvent.kind,
    metadata,
    involvedObject: subject,
    type: occurrence.type,
    reason: occurrence.reason,
    ...repetition(series, occurrence),
    firstTimestamp: timestamp(series.firstMs),
    source: { component },
    reportingComponent: component,
    reportingInstance: instance,
  };
}
