import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { StoreReader } from "../cache/store.ts";
import type { FinishedRequest } from "../client/http-client.ts";
import type { FinishedRun } from "../controller/runner.ts";
import type { ManagerObserver } from "../manager.ts";
import { type Kind, type KubeObject, resourceName } from "../object.ts";
import type { QueueObserver } from "../queue/work-queue.ts";
import { registerProcessMetrics } from "./process-metrics.ts";

/** From a cache hit to a reconcile that waited for several slow servers. */
const SECONDS_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60];

interface MetricsOptions {
  /** Prefix of all names, except the common ones of work queues, the process and Node.js. */
  readonly prefix: string;
  /** The registry for all metrics; defaults to a new one. */
  readonly registry?: Registry;
}

const RESULTS: readonly FinishedRun["result"][] = ["success", "requeue", "error", "terminal"];

/**
 * The runtime's metrics for Prometheus. It implements the observers that the other modules declare, so that
 * they do not depend on Prometheus. Label values come from small fixed sets (controllers, resources, verbs,
 * codes, reasons), never from object names.
 */
export class RuntimeMetrics implements ManagerObserver {
  readonly registry: Registry;
  readonly #queue: (controller: string) => QueueObserver;
  readonly #reconciles: Counter<"controller" | "result">;
  readonly #reconcileSeconds: Histogram<"controller">;
  readonly #watchRestarts: Counter<"resource" | "reason">;
  readonly #requests: Counter<"verb" | "code">;
  readonly #requestSeconds: Histogram<"verb" | "resource">;
  readonly #cacheSizes: Readings;
  readonly #leader: Gauge;
  readonly #leaseFailures: Counter<"reason">;

  constructor({ prefix, registry = new Registry() }: MetricsOptions) {
    this.registry = registry;
    this.#queue = queueMetrics(registry);
    this.#reconciles = counter(registry, {
      name: `${prefix}reconcile_total`,
      help: "Runs of a controller by result: success, requeue, error or terminal.",
      labelNames: ["controller", "result"],
    });
    this.#reconcileSeconds = histogram(registry, {
      name: `${prefix}reconcile_duration_seconds`,
      help: "Duration of the runs of a controller.",
      labelNames: ["controller"],
    });
    this.#watchRestarts = counter(registry, {
      name: `${prefix}watch_restarts_total`,
      help: "Failed lists and watches that were restarted, by resource and reason.",
      labelNames: ["resource", "reason"],
    });
    this.#requests = counter(registry, {
      name: `${prefix}api_requests_total`,
      help: "Requests to the API server by verb and HTTP status code; 0 means no response.",
      labelNames: ["verb", "code"],
    });
    this.#requestSeconds = histogram(registry, {
      name: `${prefix}api_request_duration_seconds`,
      help: "Time until the API server starts to respond, by verb and resource.",
      labelNames: ["verb", "resource"],
    });
    this.#cacheSizes = readings(registry, {
      name: `${prefix}cache_objects`,
      help: "Number of objects in the caches of a resource.",
      labelNames: ["resource"],
    });
    const leader = { name: `${prefix}leader`, help: "1 while this process is the leader, otherwise 0." };
    this.#leader = new Gauge({ ...leader, registers: [registry] });
    this.#leaseFailures = counter(registry, {
      name: `${prefix}lease_failures_total`,
      help: "Failed requests for the Lease of the leader election, by reason; Forbidden means a missing permission.",
      labelNames: ["reason"],
    });
    this.#leaseFailures.inc({ reason: "Forbidden" }, 0);
    registerProcessMetrics(registry);
  }

  /**
   * Initialize counters with 0: Prometheus does not see the first increase of a counter that did not exist.
   */
  queue(controller: string): QueueObserver {
    for (const result of RESULTS) this.#reconciles.inc({ controller, result }, 0);
    return this.#queue(controller);
  }

  reconciled(controller: string, { result, durationMs }: FinishedRun): void {
    this.#reconciles.inc({ controller, result });
    this.#reconcileSeconds.observe({ controller }, durationMs / 1_000);
  }

  watchRestarted(resource: string, reason: string): void {
    this.#watchRestarts.inc({ resource, reason });
  }

  requested({ verb, resource, code, durationMs }: FinishedRequest): void {
    this.#requests.inc({ verb, code: `${code}` });
    this.#requestSeconds.observe({ verb, resource }, durationMs / 1_000);
  }

  leading(isLeader: boolean): void {
    this.#leader.set(isLeader ? 1 : 0);
  }

  leaseFailed(reason: string): void {
    this.#leaseFailures.inc({ reason });
  }

  cached(kind: Kind, objects: StoreReader<KubeObject>): void {
    this.#cacheSizes(resourceName(kind), () => objects.size);
  }
}

/** Named like client-go's work queue metrics, so that existing dashboards work. */
function queueMetrics(registry: Registry): (name: string) => QueueObserver {
  const metric = (name: string, help: string) => ({ name, help, labelNames: ["name" as const] });
  const depths = readings(registry, metric("workqueue_depth", "Keys that are ready but have no worker."));
  const adds = counter(registry, metric("workqueue_adds_total", "Keys added to the queue."));
  const retries = counter(
    registry,
    metric("workqueue_retries_total", "Keys that are retried because their run failed."),
  );
  const waits = histogram(
    registry,
    metric("workqueue_queue_duration_seconds", "Time that a ready key waits for a worker."),
  );
  const works = histogram(
    registry,
    metric("workqueue_work_duration_seconds", "Time that a worker spends on a key."),
  );
  return (name) => {
    const [added, retried] = [adds.labels(name), retries.labels(name)];
    for (const count of [added, retried]) count.inc(0);
    const [waited, worked] = [waits.labels(name), works.labels(name)];
    return {
      depthFrom: (read) => depths(name, read),
      added: () => added.inc(),
      retried: () => retried.inc(),
      started: (waitedMs) => waited.observe(waitedMs / 1_000),
      finished: (workedMs) => worked.observe(workedMs / 1_000),
    };
  };
}

/** Adds a function that reads the value for a label value. */
type Readings = (labelValue: string, read: () => number) => void;

/** A gauge that is read at each scrape: for each label value, the sum of its readings. */
function readings(registry: Registry, metric: Metric<string>): Readings {
  const readers = new Map<string, (() => number)[]>();
  new Gauge({
    ...metric,
    registers: [registry],
    collect() {
      for (const [value, reads] of readers)
        this.labels(value).set(reads.reduce((sum, read) => sum + read(), 0));
    },
  });
  return (value, read) => readers.set(value, [...(readers.get(value) ?? []), read]);
}

interface Metric<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
}

function counter<Label extends string>(registry: Registry, metric: Metric<Label>): Counter<Label> {
  return new Counter({ ...metric, registers: [registry] });
}

function histogram<Label extends string>(registry: Registry, metric: Metric<Label>): Histogram<Label> {
  return new Histogram({ ...metric, buckets: SECONDS_BUCKETS, registers: [registry] });
}
