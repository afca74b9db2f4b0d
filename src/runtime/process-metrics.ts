import { Counter, Gauge, type Registry } from "prom-client";

/**
 * What the process costs, under the names that dashboards of Node programs expect. Everything is read when
 * it is asked for: unlike prom-client's own set, nothing runs in between.
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
