import type { Client } from "./client/client.ts";
import { isAlreadyExists, isNotFound, isUnavailable } from "./client/error.ts";
import type { Clock, Random } from "./clock.ts";
import { messageOf } from "./errors.ts";
import { EventCorrelator, type Occurrence, type Series } from "./events/correlator.ts";
import {
  eventName,
  eventRef,
  newEvent,
  type Regarding,
  type Reporter,
  regarding,
  repetition,
} from "./events/event-object.ts";
import { CoreEvent } from "./kinds.ts";
import type { Logger } from "./log.ts";
import { type KubeObject, keyOf } from "./object.ts";
import { type Action, awaitChange } from "./queue/action.ts";
import { WorkQueue } from "./queue/work-queue.ts";
import { runWorkers } from "./queue/workers.ts";
import { redactText } from "./redact/redactor.ts";

/** Records Kubernetes Events, which `kubectl describe` shows. */
export interface EventRecorder {
  /**
   * Records an event for `object`. Returns immediately, never throws, and may be called often: repetitions
   * are counted in one Event and cause few requests.
   */
  event(object: KubeObject, occurrence: Occurrence): void;
}

export interface ClusterEventRecorderOptions extends Reporter {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** A pending write. */
interface Pending {
  readonly series: Series;
  readonly subject: Regarding;
  readonly occurrence: Occurrence;
  readonly failures: number;
}

const MAX_PENDING = 1_000;
const MAX_FAILURES = 4;
/** How long repetitions are collected before their count is written. */
const GATHER_MS = 5_000;
/** Two, so that one slow response does not delay the next event. */
const CONCURRENCY = 2;

/**
 * Records core/v1 Events in the cluster. Each object may cause a burst of writes and then few, and again when
 * it is deleted. The queue is bounded, and events that can't be written after a few attempts are dropped:
 * events are best effort.
 */
export class ClusterEventRecorder implements EventRecorder {
  readonly #options: ClusterEventRecorderOptions;
  readonly #correlator = new EventCorrelator();
  readonly #pending = new Map<string, Pending>();
  readonly #queue: WorkQueue;
  readonly #stop = new AbortController();
  readonly #workers: Promise<void>;

  constructor(options: ClusterEventRecorderOptions) {
    const { clock, random } = options;
    this.#options = options;
    this.#queue = new WorkQueue({ clock, random });
    this.#workers = runWorkers(this.#queue, {
      clock,
      concurrency: CONCURRENCY,
      signal: this.#stop.signal,
      work: (id) => this.#work(id),
    });
  }

  event(object: KubeObject, reported: Occurrence): void {
    const occurrence = { ...reported, message: redactText(reported.message) };
    const subject = regarding(object);
    const subjectId = budgetOf(object);
    const now = this.#options.clock.now();
    const { series, message } = this.#correlator.count(subjectId, occurrence, now);
    const refusal = this.#pending.has(series.id) ? undefined : this.#refusal(subjectId, now);
    if (refusal) {
      this.#drop(occurrence, refusal);
      return;
    }
    this.#pending.set(series.id, { series, subject, occurrence: { ...occurrence, message }, failures: 0 });
    this.#queue.add(series.id, { afterMs: series.count === 1 ? 0 : GATHER_MS });
  }

  /** For shutdown: writes pending events for at most `withinMs`, and then stops. Never rejects. */
  async flush(withinMs: number): Promise<void> {
    const deadline = new AbortController();
    const expired = this.#options.clock.sleep(withinMs, deadline.signal).catch(() => {});
    this.#stop.abort();
    await Promise.race([this.#writeAll(deadline.signal), expired]);
    deadline.abort();
  }

  /** Why the object may not cause another write now. */
  #refusal(subjectId: string, now: number): string | undefined {
    if (this.#pending.size >= MAX_PENDING) return "too many pending events";
    return this.#correlator.mayWrite(subjectId, now)
      ? undefined
      : "the event budget of the object is exhausted";
  }

  async #writeAll(signal: AbortSignal): Promise<void> {
    await this.#workers;
    for (const id of [...this.#pending.keys()]) {
      if (signal.aborted) return;
      await this.#work(id).catch(() => {});
    }
  }

  async #work(id: string): Promise<Action> {
    const pending = this.#pending.get(id);
    if (!pending) return awaitChange;
    this.#pending.delete(id);
    try {
      await this.#write(pending);
    } catch (error) {
      const failures = pending.failures + 1;
      if (failures >= MAX_FAILURES || !isUnavailable(error)) this.#drop(pending.occurrence, messageOf(error));
      else {
        if (!this.#pending.has(id)) this.#pending.set(id, { ...pending, failures });
        throw error;
      }
    }
    return awaitChange;
  }

  async #write(pending: Pending): Promise<void> {
    const { series } = pending;
    if (series.reported > 0 && (await this.#patch(pending))) return;
    series.name ??= eventName(pending.subject, this.#options.random);
    const { count } = series;
    const event = newEvent(eventRef(pending.subject, series.name), this.#options, pending);
    await this.#options.client.create(CoreEvent, event).catch((error) => {
      // An earlier attempt succeeded, but its response was lost.
      if (!isAlreadyExists(error)) throw error;
    });
    series.reported = count;
  }

  /** Writes the new count; false if the Event has expired, so that its series starts again. */
  async #patch({ series, subject, occurrence }: Pending): Promise<boolean> {
    const { count } = series;
    try {
      const ref = eventRef(subject, series.name ?? "");
      await this.#options.client.mergePatch(CoreEvent, ref, repetition(series, occurrence));
      series.reported = count;
      return true;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      Object.assign(series, {
        name: undefined,
        count: count - series.reported,
        reported: 0,
        firstMs: series.lastMs,
      });
      return false;
    }
  }

  #drop({ reason }: Occurrence, because: string): void {
    this.#options.log.debug("dropped an event", { reason, because });
  }
}

/**
 * The budget key of an event: the object, and a second one for its deletion, because remaining resources are
 * only reported then.
 */
function budgetOf({ metadata: { uid, namespace, name = "", deletionTimestamp } = {} }: KubeObject): string {
  const id = uid ?? keyOf({ namespace, name });
  return deletionTimestamp ? `${id} deleted` : id;
}
