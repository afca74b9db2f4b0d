/** As much of the Prometheus operator's ServiceMonitor as our chart may use; strict about all else. */
export const serviceMonitorCrd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "servicemonitors.monitoring.coreos.com" },
  spec: {
    group: "monitoring.coreos.com",
    scope: "Namespaced",
    names: { kind: "ServiceMonitor", plural: "servicemonitors" },
    versions: [
      { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: serviceMonitorSchema() } },
    ],
  },
};

function serviceMonitorSchema(): object {
  const duration = { type: "string", pattern: "^([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$" };
  const labels = { type: "object", additionalProperties: { type: "string" } };
  const endpoint = {
    type: "object",
    properties: { port: { type: "string" }, interval: duration, scrapeTimeout: duration },
  };
  const spec = {
    type: "object",
    required: ["endpoints", "selector"],
    properties: {
      selector: { type: "object", properties: { matchLabels: labels } },
      endpoints: { type: "array", items: endpoint },
    },
  };
  return { type: "object", required: ["spec"], properties: { spec } };
}
