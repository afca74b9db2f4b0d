import { systemClock } from "kube-controller-runtime";
import { OperatorMetrics } from "../../src/operator/metrics/metrics.ts";
import { code, table } from "./reference.ts";

interface Described {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/** Every metric of the operator, in the order of its registry. */
function metrics(): Described[] {
  const { registry } = new OperatorMetrics({ clock: systemClock });
  // Each has its label names; only the library's types lack them.
  const described = registry.getMetricsAsArray() as unknown as Described[];
  return described.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

const ofObject = ({ labelNames }: Described) => labelNames.includes("kind") && labelNames.includes("name");
const isOurs = ({ name }: Described) => name.startsWith("coder_k8s_");

/** The reference page of `/metrics`. */
export function metricsPage(): string {
  const all = metrics();
  return [
    "# Metrics",
    "Metrics that the operator serves at `/metrics` on port 8080. The chart's [dashboard and alerts](../monitoring.md) use them.",
    "## Objects",
    "Gauges of each CoderControlPlane, CoderProvisioner and CoderWorkspaceProxy, with the labels `kind`, `namespace` and `name`. Only the leader exports them, so sums over replicas count each object once. The next scrape omits deleted objects.",
    objectTable(all.filter(ofObject)),
    "## The operator",
    metricTable(all.filter((metric) => isOurs(metric) && !ofObject(metric))),
    "## Well-known names",
    "These have the names of client-go's work queues and of common client libraries, so that existing dashboards show them.",
    metricTable(all.filter((metric) => !isOurs(metric))),
  ].join("\n\n");
}

const OBJECT_LABELS: readonly string[] = ["kind", "namespace", "name"];

function objectTable(rows: readonly Described[]): string {
  return table(
    ["Metric", "Other labels", "Meaning"],
    rows.map(({ name, labelNames, help }) => {
      const others = labelNames.filter((label) => !OBJECT_LABELS.includes(label));
      return [code(name), others.map(code).join(", "), help];
    }),
  );
}

function metricTable(rows: readonly Described[]): string {
  return table(
    ["Metric", "Type", "Labels", "Meaning"],
    rows.map(({ name, type, labelNames, help }) => [code(name), type, labelNames.map(code).join(", "), help]),
  );
}
