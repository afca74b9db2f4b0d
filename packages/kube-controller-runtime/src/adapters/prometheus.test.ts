import { describe, expect, it } from "vitest";
import { Store } from "../cache/store.ts";
import { Secret } from "../kinds.ts";
import { RuntimeMetrics } from "./prometheus.ts";

const run = { kind: Secret, key: "n/a" };

describe("RuntimeMetrics", () => {
  it("puts its prefix before every name but the well-known ones", async () => {
    const names = new RuntimeMetrics({ prefix: "widget_" }).registry
      .getMetricsAsArray()
      .map(({ name }) => name);
    const wellKnown = /^(workqueue|process|nodejs)_/;
    expect(names.filter((name) => !name.startsWith("widget_") && !wellKnown.test(name))).toEqual([]);
    expect(names).toContain("widget_leader");
  });

  it("shows the activity of a queue and its depth at the time of the scrape", async () => {
    const metrics = new RuntimeMetrics({ prefix: "widget_" });
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
    const metrics = new RuntimeMetrics({ prefix: "widget_" });
    metrics.reconciled("widgets", { ...run, result: "success", durationMs: 5 });
    metrics.reconciled("widgets", { ...run, result: "terminal", error: new Error("x"), durationMs: 495 });
    const text = await metrics.registry.metrics();
    expect(text).toContain('widget_reconcile_total{controller="widgets",result="success"} 1');
    expect(text).toContain('widget_reconcile_total{controller="widgets",result="terminal"} 1');
    expect(text).toContain('widget_reconcile_duration_seconds_sum{controller="widgets"} 0.5');
  });

  it("counts failures from 0 on, so that Prometheus sees the first one as an increase", async () => {
    const metrics = new RuntimeMetrics({ prefix: "widget_" });
    metrics.queue("widgets");
    const text = await metrics.registry.metrics();
    expect(text).toContain('widget_reconcile_total{controller="widgets",result="error"} 0');
    expect(text).toContain('workqueue_retries_total{name="widgets"} 0');
  });

  it("counts requests by verb and code, and watch restarts by resource and reason", async () => {
    const metrics = new RuntimeMetrics({ prefix: "widget_" });
    metrics.requested({ verb: "get", resource: "secrets", code: 200, durationMs: 40 });
    metrics.requested({ verb: "get", resource: "secrets", code: 0, durationMs: 60 });
    metrics.watchRestarted("secrets", "Expired");
    const text = await metrics.registry.metrics();
    expect(text).toContain('widget_api_requests_total{verb="get",code="200"} 1');
    expect(text).toContain('widget_api_requests_total{verb="get",code="0"} 1');
    expect(text).toContain('widget_watch_restarts_total{resource="secrets",reason="Expired"} 1');
  });

  it("says 0 for a process that has not led yet", async () => {
    const metrics = new RuntimeMetrics({ prefix: "widget_" });
    expect(await metrics.registry.metrics()).toMatch(/^widget_leader 0$/m);
    metrics.leading(true);
    expect(await metrics.registry.metrics()).toMatch(/^widget_leader 1$/m);
  });

  it("counts failed requests for the Lease by reason, a missing right from 0 on", async () => {
    const metrics = new RuntimeMetrics({ prefix: "widget_" });
    expect(await metrics.registry.metrics()).toContain('widget_lease_failures_total{reason="Forbidden"} 0');
    metrics.leaseFailed("Forbidden");
    expect(await metrics.registry.metrics()).toContain('widget_lease_failures_total{reason="Forbidden"} 1');
  });

  it("reads the size of caches at the scrape", async () => {
    const metrics = new RuntimeMetrics({ prefix: "widget_" });
    const objects = new Store<Secret>();
    metrics.cached(Secret, objects);
    objects.remember({ metadata: { name: "a", uid: "u", resourceVersion: "1" } }, { by: "create" });
    expect(await metrics.registry.metrics()).toContain('widget_cache_objects{resource="secrets"} 1');
  });

  it.each([
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "nodejs_heap_size_used_bytes",
  ])("exports %s of the process", async (name) => {
    const text = await new RuntimeMetrics({ prefix: "widget_" }).registry.metrics();
    expect(Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1])).toBeGreaterThan(0);
  });

  it("keeps the metrics of two processes' worth of runtimes apart", async () => {
    const [one, other] = [
      new RuntimeMetrics({ prefix: "widget_" }),
      new RuntimeMetrics({ prefix: "widget_" }),
    ];
    one.leading(true);
    expect(await other.registry.metrics()).toMatch(/^widget_leader 0$/m);
  });
});
