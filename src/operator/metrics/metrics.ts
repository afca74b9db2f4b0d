import {
  type Clock,
  type FinishedRun,
  type Kind,
  type KubeObject,
  keyOf,
  keyOfObject,
  type ObjectKey,
  resourceName,
  Secret,
  type Stored,
  type StoreReader,
} from "kube-controller-runtime";
import { RuntimeMetrics } from "kube-controller-runtime/prometheus";
import { Counter, Histogram } from "prom-client";
import { CoderControlPlane, CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import type { FinishedCall } from "../../coder/timed.ts";
import type { QueueNumbers } from "../coderd/ports.ts";
import { tokenExpiry } from "../coderd/token-end.ts";
import { type LabeledSubject, ObjectRegistry } from "./exposition.ts";
import { type MeasuredKind, measuredKinds } from "./facts.ts";
import { objectGauges } from "./gauges.ts";
import { CoderdDates } from "./key-dates.ts";

const PREFIX = "coder_k8s_";
/** Up to the limits of calls to coderd (10 s) and of database sessions (30 s). */
const CALL_BUCKETS = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30];
const OBJECT_LABELS = ["kind", "namespace", "name"] as const;

/** A successful reconcile. */
interface Sync {
  /** In seconds since the epoch. */
  readonly at: number;
  /** URL of the coderd that the object runs. Its dates are dropped together with the object. */
  readonly url: string | undefined;
}

/** The objects of a kind, and the last sync of each by its key. */
interface Measured extends MeasuredKind {
  readonly objects: StoreReader<KubeObject>;
  readonly syncs: Map<ObjectKey, Sync>;
}

interface OperatorMetricsOptions {
  readonly clock: Clock;
  /** Yields between parts of a scrape. Defaults to the next turn of the event loop. */
  readonly turn?: () => Promise<void>;
}

/**
 * Metrics of the runtime and of single objects. The latter are read from the caches at scrape time, so
 * deleted objects have none. Only the leader exports them; otherwise, every object would be counted once per
 * replica.
 */
export class OperatorMetrics extends RuntimeMetrics {
  /** Receives dates from coderd. */
  readonly coderd = new CoderdDates();
  readonly #clock: Clock;
  readonly #queues = new Map<ObjectKey, QueueNumbers>();
  readonly #measured = new Map<string, Measured>();
  readonly #tokensLeft: Counter;
  readonly #entitiesLeft: Counter;
  readonly #coderdCalls: Histogram<"call" | "result">;
  readonly #databaseCalls: Histogram<"call" | "result">;
  #secrets: StoreReader<KubeObject> | undefined;
  #leads = false;

  constructor({ clock, turn }: OperatorMetricsOptions) {
    const subjects = () => this.#subjects();
    const objects = { prefix: PREFIX, labelNames: OBJECT_LABELS, gauges: objectGauges, subjects, turn };
    super({ prefix: PREFIX, registry: new ObjectRegistry(objects) });
    this.#clock = clock;
    this.#tokensLeft = new Counter({
      name: `${PREFIX}tokens_left_behind_total`,
      help: "Number of operator tokens that could not be revoked when their control plane was deleted. See the log for details.",
      registers: [this.registry],
    });
    this.#entitiesLeft = new Counter({
      name: `${PREFIX}entities_left_behind_total`,
      help: "Entities, such as groups, that should have been deleted from coderd with their objects and stay; the log names them.",
      registers: [this.registry],
    });
    this.#coderdCalls = this.#callDurations("coderd", "calls to coderd");
    this.#databaseCalls = this.#callDurations("database", "sessions with the databases of coderd");
  }

  #callDurations(target: string, what: string): Histogram<"call" | "result"> {
    return new Histogram({
      name: `${PREFIX}${target}_call_duration_seconds`,
      help: `Duration of ${what} in seconds, by call and result. The result is ok or the kind of failure.`,
      labelNames: ["call", "result"],
      buckets: CALL_BUCKETS,
      registers: [this.registry],
    });
  }

  coderdCalled({ call, result, seconds }: FinishedCall): void {
    this.#coderdCalls.observe({ call, result }, seconds);
  }

  databaseCalled({ call, result, seconds }: FinishedCall): void {
    this.#databaseCalls.observe({ call, result }, seconds);
  }

  /** Counts a token that is still valid although its control plane is deleted. */
  tokenOrphaned(): void {
    this.#tokensLeft.inc();
  }

  /** Counts an entity that stays in coderd although its object was deleted. */
  entityOrphaned(): void {
    this.#entitiesLeft.inc();
  }

  /** Receives the state of the queues of a control plane, or undefined when polling ends. */
  queueObserved(controlPlane: ObjectKey, numbers: QueueNumbers | undefined): void {
    if (numbers) this.#queues.set(controlPlane, numbers);
    else this.#queues.delete(controlPlane);
  }

  override cached(kind: Kind, objects: StoreReader<KubeObject>): void {
    super.cached(kind, objects);
    if (kind === (Secret as Kind)) this.#secrets = objects;
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
    const url = object && facts(object).url;
    const before = syncs.get(run.key)?.url;
    if (before !== undefined && before !== url) this.coderd.forget(before);
    if (object) syncs.set(run.key, { at: this.#clock.now() / 1_000, url });
    else syncs.delete(run.key);
  }

  *#subjects(): Iterable<LabeledSubject> {
    if (!this.#leads) return;
    for (const measured of this.#measured.values()) {
      for (const object of measured.objects.all()) yield this.#subject(object, measured);
    }
  }

  /** In seconds since the epoch, as recorded when the token was created. */
  #tokenExpiry(namespace: string, name: string | undefined): number | undefined {
    const secret = name ? this.#secrets?.get(keyOf({ namespace, name })) : undefined;
    const expiry = secret && tokenExpiry(secret);
    return expiry && expiry / 1_000;
  }

  #subject(object: Stored<KubeObject>, { kind, facts, syncs }: Measured) {
    const { namespace = "", name } = object.metadata;
    const read = facts(object);
    const numbers = read.queueOf === undefined ? undefined : this.#queues.get(read.queueOf);
    return {
      labels: { kind: kind.kind, namespace, name },
      facts: read,
      queue: kind === (CoderControlPlane as Kind) ? numbers?.totals : undefined,
      pool: kind === (CoderProvisioner as Kind) ? numbers?.pools.get(name) : undefined,
      tokenExpiry: this.#tokenExpiry(namespace, read.tokenSecret),
      lastSync: syncs.get(keyOfObject(object))?.at,
      dates: this.coderd,
    };
  }
}
