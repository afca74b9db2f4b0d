import { Gauge } from "prom-client";
import type { StoreReader } from "../../runtime/cache/store.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { FinishedRun } from "../../runtime/controller/runner.ts";
import { RuntimeMetrics } from "../../runtime/metrics.ts";
import {
  type Kind,
  type KubeObject,
  keyOfObject,
  type ObjectKey,
  resourceName,
  type Stored,
} from "../../runtime/object.ts";
import { type Facts, type MeasuredKind, measuredKinds } from "./facts.ts";
import { type ObjectGauge, objectGauges, type Subject } from "./gauges.ts";
import { Hearsay } from "./hearsay.ts";

const PREFIX = "coder_k8s_";
const OBJECT_LABELS = ["kind", "namespace", "name"] as const;

/** A run without an error. */
interface Sync {
  /** In seconds since the epoch. */
  readonly at: number;
  /** What coderd may tell of that concerns nobody but this object. */
  readonly topics: readonly string[];
}

/** The objects of a kind, and the last sync of each by its key. */
interface Measured extends MeasuredKind {
  readonly objects: StoreReader<KubeObject>;
  readonly syncs: Map<ObjectKey, Sync>;
}

/**
 * The runtime's metrics and those of single objects. The latter are read from the caches when they are asked
 * for, so what is gone is not told of; only the leader tells them, or every object would be counted once for each
 * replica.
 */
export class OperatorMetrics extends RuntimeMetrics {
  /** To be told what coderds say. */
  readonly coderd = new Hearsay();
  readonly #clock: Clock;
  readonly #measured = new Map<string, Measured>();
  #leads = false;

  constructor({ clock }: { readonly clock: Clock }) {
    super({ prefix: PREFIX });
    this.#clock = clock;
    for (const gauge of objectGauges) this.#register(gauge);
  }

  override cached(kind: Kind, objects: StoreReader<KubeObject>): void {
    super.cached(kind, objects);
    const measured = measuredKinds.find((other) => other.kind === kind);
    if (measured) this.#measured.set(resourceName(kind), { ...measured, objects, syncs: new Map() });
  }

  override leading(isLeader: boolean): void {
    super.leading(isLeader);
    this.#leads = isLeader;
  }

  override reconciled(controller: string, run: FinishedRun): void {
    super.reconciled(controller, run);
    const measured = this.#measured.get(resourceName(run.kind));
    if (!measured) return;
    const { objects, syncs, facts } = measured;
    const object = objects.get(run.key);
    if (object && "error" in run) return;
    const topics = object ? topicsOf(facts(object)) : [];
    this.coderd.forget(syncs.get(run.key)?.topics.filter((topic) => !topics.includes(topic)) ?? []);
    if (object) syncs.set(run.key, { at: this.#clock.now() / 1_000, topics });
    else syncs.delete(run.key);
  }

  #register({ name, help, labelNames = [], read }: ObjectGauge): void {
    const subjects = () => this.#subjects();
    new Gauge({
      name: `${PREFIX}${name}`,
      help,
      labelNames: [...OBJECT_LABELS, ...labelNames],
      registers: [this.registry],
      collect() {
        this.reset();
        for (const { labels: own, ...subject } of subjects())
          for (const { labels, value } of read(subject)) this.set({ ...own, ...labels }, value);
      },
    });
  }

  *#subjects(): Iterable<Subject & { labels: Record<string, string> }> {
    if (!this.#leads) return;
    for (const measured of this.#measured.values()) {
      for (const object of measured.objects.all()) yield this.#subject(object, measured);
    }
  }

  #subject(object: Stored<KubeObject>, { kind, facts, syncs }: Measured) {
    const { namespace = "", name } = object.metadata;
    return {
      labels: { kind: kind.kind, namespace, name },
      facts: facts(object),
      lastSync: syncs.get(keyOfObject(object))?.at,
      hearsay: this.coderd,
    };
  }
}

function topicsOf({ licensedURL, provisionerKeyID }: Facts): string[] {
  return [licensedURL, provisionerKeyID].filter((topic) => topic !== undefined);
}
