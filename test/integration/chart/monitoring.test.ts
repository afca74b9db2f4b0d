import { readFileSync } from "node:fs";
import { systemClock } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import {
  controlPlaneConditions,
  provisionerConditions,
  typesOf,
  workspaceProxyConditions,
} from "../../../src/operator/conditions.ts";
import { measuredKinds } from "../../../src/operator/metrics/facts.ts";
import { OperatorMetrics } from "../../../src/operator/metrics/metrics.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { type Helm, helmFor, only } from "../../support/helm.ts";
import {
  type Alert,
  alerts,
  alertsIn,
  chartFile,
  dashboard,
  type Panel,
  queries,
} from "../../support/monitoring.ts";
import { parseQuery } from "../../support/promql.ts";

const cluster = sharedCluster();
const release = { name: "ops", namespace: "tools" };
const monitored = {
  metrics: { serviceMonitor: { enabled: true } },
  alerts: { enabled: true },
  dashboard: { enabled: true },
};
const doc = (name: string) => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), "utf8");
const runbooks = doc("runbooks.md");
const sections = [...runbooks.matchAll(/^## (.*)$/gm)].map(([, title = ""]) => title);

let helm: Helm;
beforeAll(async () => {
  helm = await helmFor(cluster);
});
afterAll(() => helm?.[Symbol.asyncDispose]());

/** The labels that each metric has at Prometheus: its own, and those of the scrape. */
function labelsByMetric(): Map<string, Set<string>> {
  const scraped = ["job", "instance", "namespace"];
  const { registry } = new OperatorMetrics({ clock: systemClock });
  const metrics = registry.getMetricsAsArray() as unknown as { name: string; labelNames: string[] }[];
  const labels = new Map([["up", new Set(scraped)]]);
  for (const { name, labelNames } of metrics) {
    for (const part of ["", "_sum", "_count"]) labels.set(name + part, new Set([...scraped, ...labelNames]));
    labels.set(`${name}_bucket`, new Set([...scraped, ...labelNames, "le"]));
  }
  return labels;
}

describe("queries", () => {
  const known = labelsByMetric();

  test("are there at all", () => {
    expect(queries.length).toBeGreaterThan(alerts.length + 20);
  });

  test.for(queries)("$where: $query chooses and groups by labels that its metrics have", ({ query }) => {
    const { selectors, grouping } = parseQuery(query);
    const ofAll = new Set(selectors.flatMap(({ metric }) => [...(known.get(metric) ?? [])]));
    for (const { metric, labels } of selectors) {
      expect([...(known.get(metric) ?? [])], metric).toEqual(expect.arrayContaining([...labels]));
    }
    expect([...ofAll]).toEqual(expect.arrayContaining([...grouping]));
  });
});

/** The words that a query compares a label of conditions or objects with. */
function wordsFor(label: string): string[] {
  const matchers = queries.flatMap(({ query }) => [
    ...query.matchAll(new RegExp(`\\b${label}!?[=~]~?"(.*?)"`, "g")),
  ]);
  return matchers.flatMap(([, words = ""]) => words.split("|"));
}

describe("queries speak of", () => {
  test("kinds that there are", () => {
    const kinds = measuredKinds.map(({ kind }) => kind.kind);
    expect(kinds).toEqual(expect.arrayContaining(wordsFor("kind")));
  });

  test("conditions that objects have, and reasons that are explained", () => {
    const tables = [controlPlaneConditions, provisionerConditions, workspaceProxyConditions];
    const conditions = tables.flatMap((table) => Object.values<string>(typesOf(table)));
    expect(conditions).toEqual(expect.arrayContaining(wordsFor("condition")));
    for (const reason of wordsFor("reason"))
      expect(doc("reference/conditions.md")).toContain(`| \`${reason}\` |`);
  });
});

describe("alerts", () => {
  test.for(alerts)("$alert says how bad it is, what is wrong, what to do and where to read on", (alert) => {
    expect(["critical", "warning"]).toContain(alert.labels.severity);
    expect(alert.annotations.summary).toMatch(/\.$/);
    expect(alert.annotations.summary?.length).toBeLessThan(140);
    expect(alert.annotations.description?.length).toBeGreaterThan(80);
    expect(sections).toContain(alert.alert);
    expect(alert.annotations.runbook_url).toBe(`${defaultRunbooks()}#${alert.alert.toLowerCase()}`);
  });

  test.for(alerts)("$alert speaks of labels that its query leaves", ({ expr, annotations }) => {
    const used = Object.values(annotations).flatMap((text) =>
      [...text.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label),
    );
    expect(parseQuery(expr).grouping).toEqual(expect.arrayContaining(used));
  });

  test("have different names, and each section of the runbooks one of them", () => {
    const names = alerts.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    expect(sections.toSorted()).toEqual(names.toSorted());
    for (const name of names)
      expect(doc("monitoring.md")).toContain(`[${name}](runbooks.md#${name.toLowerCase()})`);
  });

  test("have the names of the release, and lead to the runbooks of its owner", async () => {
    const values = { ...monitored, alerts: { enabled: true, runbookURL: "https://wiki.example.com/coder" } };
    const manifests = await helm.manifests({ ...release, values });
    const rendered = JSON.stringify(only(manifests, "PrometheusRule").spec);
    expect(rendered).not.toMatch(
      /coder-system|\\"coder-k8s-metrics|deployment\/coder-k8s|instance=coder-k8s/,
    );
    expect(rendered).toContain('job=\\"ops-coder-k8s-metrics\\",namespace=\\"tools\\"');
    expect(rendered).toContain("https://wiki.example.com/coder#coderoperatordown");
    expect(rendered).not.toContain(defaultRunbooks());
    const { metadata } = only(manifests, "Service");
    expect(rendered).toContain(`job=\\"${metadata.name}\\"`);
  });

  test("are left out, delayed, rerouted and given another threshold one by one", async () => {
    const values = {
      metrics: { serviceMonitor: { enabled: true } },
      alerts: {
        enabled: true,
        rules: {
          CoderOperatorDown: { enabled: false },
          CoderObjectNotReady: { for: "1h", severity: "info" },
          CoderLicenseExpiring: { threshold: 30 },
          CoderWatchRestarts: { threshold: 5 },
        },
      },
    };
    const { spec } = only(await helm.manifests({ ...release, values }), "PrometheusRule");
    const rendered = alertsIn(spec as Parameters<typeof alertsIn>[0]);
    const named = (name: string) => rendered.find(({ alert }) => alert === name);
    expect(rendered).toHaveLength(alerts.length - 1);
    expect(named("CoderOperatorDown")).toBeUndefined();
    expect(named("CoderObjectNotReady")).toMatchObject({ for: "1h", labels: { severity: "info" } });
    expect(named("CoderLicenseExpiring")?.expr).toMatch(/ < 30 \* 24 \* 3600$/);
    expect(named("CoderWatchRestarts")?.expr).toMatch(/ > 5$/);
  });

  test("have a switch each in the values", () => {
    const { rules } = parse(chartFile("values.yaml")).alerts;
    expect(Object.keys(rules)).toEqual(alerts.map(({ alert }) => alert));
  });

  test.for(alerts)("$alert is correct with any of its switches", ({ annotations }) => {
    expect(Object.values(annotations).join(" ")).not.toMatch(/within \d+ days|for \d+ minutes/i);
  });

  test("are, with the names of the guide, what the file for a Prometheus without an operator says", async () => {
    const manifests = await helm.manifests({
      name: "coder-k8s",
      namespace: "coder-system",
      values: monitored,
    });
    const { spec } = only(manifests, "PrometheusRule");
    expect(alertsIn(spec as Parameters<typeof alertsIn>[0])).toEqual(alerts as Alert[]);
  });
});

function defaultRunbooks(): string {
  return parse(chartFile("values.yaml")).alerts.runbookURL;
}

describe("the dashboard", () => {
  test("is found by Grafana's sidecar and reaches it unchanged", async () => {
    const values = { ...monitored, dashboard: { enabled: true, annotations: { grafana_folder: "Coder" } } };
    const { metadata, data } = only(await helm.manifests({ ...release, values }), "ConfigMap");
    expect(metadata.labels).toMatchObject({ grafana_dashboard: "1" });
    expect(metadata.annotations).toEqual({ grafana_folder: "Coder" });
    expect(JSON.parse((data as Record<string, string>)["ops-coder-k8s.json"] ?? "")).toEqual(dashboard);
  });

  test("has panels that explain themselves, none upon another", () => {
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { type, title, description } of panels)
      if (type !== "row") expect(description, title).toMatch(/\.$/);
    const cells = panels.flatMap(cellsOf);
    expect(new Set(cells).size).toBe(cells.length);
  });
});

function cellsOf({ gridPos: { x, y, w, h } }: Panel): string[] {
  return Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`);
}
