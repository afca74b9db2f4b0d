import { monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Gauge, type Registry } from "prom-client";

/** A native timer of this period finds out how late the event loop is. */
const LAG_RESOLUTION_MS = 20;

/**
 * What the process costs, under the names that dashboards of Node programs expect. Everything is read when
 * it is asked for; between scrapes nothing runs but the timer that measures the event loop.
 */
export function registerProcessMetrics(registry: Registry): void {
  const gauge = (name: string, help: string, read: () => number | Promise<number>) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set(await read());
      },
    });
  const startedAt = Math.round(Date.now() / 1_000 - process.uptime());
  let lastUtilization = performance.eventLoopUtilization();

  new Counter({
    name: "process_cpu_seconds_total",
    help: "Processor time used, in user and system mode.",
    registers: [registry],
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  gauge("process_resident_memory_bytes", "Resident memory.", () => process.memoryUsage.rss());
  gauge("process_start_time_seconds", "When the process started, in Unix time.", () => startedAt);
  gauge("nodejs_heap_size_used_bytes", "JavaScript heap in use.", () => process.memoryUsage().heapUsed);
  gauge("nodejs_eventloop_lag_seconds", "How late the event loop was, measured at this scrape.", loopLag);
  const delay = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  delay.enable();
  gauge(
    "nodejs_eventloop_lag_max_seconds",
    "The longest that anything had to wait for the event loop since the last scrape.",
    () => {
      // The monitor's own timer is part of what it measures.
      const ms = Math.max(delay.max / 1e6 - LAG_RESOLUTION_MS, 0);
      delay.reset();
      return ms / 1_000;
    },
  );
  gauge("nodejs_eventloop_utilization", "Busy share of the event loop since the last scrape.", () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, lastUtilization);
    lastUtilization = now;
    return utilization;
  });
}

function loopLag(): Promise<number> {
  const askedAt = performance.now();
  return new Promise((resolve) => setImmediate(() => resolve((performance.now() - askedAt) / 1_000)));
}
