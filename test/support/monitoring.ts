import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { chartDir } from "./helm.ts";

/** An alert rule of the chart. */
export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Target {
  readonly expr: string;
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly Target[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly definition?: string }[] };
}

export function alertsIn(rules: { groups: readonly { rules: readonly Alert[] }[] }): Alert[] {
  return rules.groups.flatMap((group) => group.rules);
}

/** The alerts as the chart has them, with its default names. */
export const alerts: readonly Alert[] = alertsIn(parse(chartFile("files/alerts.yaml")));

export const dashboard: Dashboard = JSON.parse(chartFile("files/dashboard.json"));

/** Every query of the chart, with where it is from; Grafana's own variables have a value. */
export const queries: readonly { readonly where: string; readonly query: string }[] = [
  ...alerts.map(({ alert, expr }) => ({ where: `alert ${alert}`, query: expr })),
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      where: `panel "${title}"`,
      query: expr.replaceAll("$__rate_interval", "2m"),
    })),
  ),
  ...dashboard.templating.list.flatMap(({ definition = "" }) => {
    const [, query, label] = /^label_values\((.*), (\w+)\)$/.exec(definition) ?? [];
    return query ? [{ where: `variable of ${label}`, query: `max by (${label}) (${query})` }] : [];
  }),
];

export function chartFile(path: string): string {
  return readFileSync(join(chartDir, path), "utf8");
}
