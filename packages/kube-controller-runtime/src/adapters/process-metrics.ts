import { monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Gauge, type Registry } from "prom-client";

/** The period of the native timer that measures the delay of the event loop. */
const LAG_RESOLUTION_MS = 20;

/**
 * Resource usage of the process, under the names that dashboards for Node.js expect. Values are read at each
 * scrape; in between, only the timer that measures the event loop runs.
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
    help: "CPU time in user and system mode.",
    registers: [registry],
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  gauge("process_resident_memory_bytes", "Resident memory.", () => process.memoryUsage.rss());
  gauge("process_start_time_seconds", "Start time of the process in Unix time.", () => startedAt);
  gauge("nodejs_heap_size_used_bytes", "JavaScript heap in use.", () => process.memoryUsage().heapUsed);
  gauge("nodejs_eventloop_lag_seconds", "Delay of the event loop at this scrape.", loopLag);
  const delay = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  delay.enable();
  gauge("nodejs_eventloop_lag_max_seconds", "Maximum delay of the event loop since the last scrape.", () => {
    // Subtract the period of the monitor's own timer.
    const ms = Math.max(delay.max / 1e6 - LAG_RESOLUTION_MS, 0);
    delay.reset();
    return ms / 1_000;
  });
  gauge("nodejs_eventloop_utilization", "Utilization of the event loop since the last scrape.", () => {
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
