import { describe, expect, it } from "vitest";
import { RuntimeMetrics } from "./metrics.ts";

describe("RuntimeMetrics", () => {
  it("shows what a queue did, its depth as it is at the scrape", async () => {
    const metrics = new RuntimeMetrics();
    const observer = metrics.queue("widgets");
    let depth = 3;
    observer.depthFrom(() => depth);
    depth = 7;
    observer.added();
    observer.added();
    observer.retried();
    observer.started(2_000);
    observer.finished(20);
    const text = await metrics.registry.metrics();
    expect(text).toContain('workqueue_depth{name="widgets"} 7');
    expect(text).toContain('workqueue_adds_total{name="widgets"} 2');
    expect(text).toContain('workqueue_retries_total{name="widgets"} 1');
    expect(text).toContain('workqueue_queue_duration_seconds_sum{name="widgets"} 2');
    expect(text).toContain('workqueue_work_duration_seconds_bucket{le="0.05",name="widgets"} 1');
  });

  it("counts runs by controller and result, and how long they took", async () => {
    const metrics = new RuntimeMetrics();
    metrics.reconciled("widgets", { result: "success", durationMs: 5 });
    metrics.reconciled("widgets", { result: "terminal", error: new Error("x"), durationMs: 495 });
    const text = await metrics.registry.metrics();
    expect(text).toContain('reconcile_total{controller="widgets",result="success"} 1');
    expect(text).toContain('reconcile_total{controller="widgets",result="terminal"} 1');
    expect(text).toContain('reconcile_duration_seconds_sum{controller="widgets"} 0.5');
  });

  it("counts requests by verb and code, and watch restarts by kind and reason", async () => {
    const metrics = new RuntimeMetrics();
    metrics.requested({ verb: "get", code: 200 });
    metrics.requested({ verb: "get", code: 0 });
    metrics.watchRestarted("secrets", "Expired");
    const text = await metrics.registry.metrics();
    expect(text).toContain('api_requests_total{verb="get",code="200"} 1');
    expect(text).toContain('api_requests_total{verb="get",code="0"} 1');
    expect(text).toContain('watch_restarts_total{kind="secrets",reason="Expired"} 1');
  });

  it("says 0 for a process that has not led yet", async () => {
    const metrics = new RuntimeMetrics();
    expect(await metrics.registry.metrics()).toMatch(/^leader 0$/m);
    metrics.leading(true);
    expect(await metrics.registry.metrics()).toMatch(/^leader 1$/m);
  });

  it("reads the size of caches at the scrape", async () => {
    const metrics = new RuntimeMetrics();
    const objects = new Set<number>();
    metrics.cacheSize("secrets", () => objects.size);
    objects.add(1);
    expect(await metrics.registry.metrics()).toContain('cache_objects{kind="secrets"} 1');
  });

  it.each([
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "nodejs_heap_size_used_bytes",
  ])("tells %s of the process", async (name) => {
    const text = await new RuntimeMetrics().registry.metrics();
    expect(Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1])).toBeGreaterThan(0);
  });

  it("keeps the metrics of two processes' worth of runtimes apart", async () => {
    const [one, other] = [new RuntimeMetrics(), new RuntimeMetrics()];
    one.leading(true);
    expect(await other.registry.metrics()).toMatch(/^leader 0$/m);
  });
});
