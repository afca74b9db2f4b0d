/** As much of the Prometheus operator's kinds as our chart may use; strict about all else. */
export const prometheusOperatorCrds = [
  crd({ kind: "ServiceMonitor", plural: "servicemonitors" }, serviceMonitorSpec()),
  crd({ kind: "PrometheusRule", plural: "prometheusrules" }, prometheusRuleSpec()),
];

function crd(names: { kind: string; plural: string }, spec: object) {
  const openAPIV3Schema = { type: "object", required: ["spec"], properties: { spec } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${names.plural}.monitoring.coreos.com` },
    spec: {
      group: "monitoring.coreos.com",
      scope: "Namespaced",
      names,
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}

function serviceMonitorSpec(): object {
  const duration = { type: "string", pattern: "^([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$" };
  const labels = { type: "object", additionalProperties: { type: "string" } };
  const names = { type: "array", items: { type: "string" } };
  const relabeling = {
    type: "object",
    properties: {
      sourceLabels: names,
      separator: { type: "string" },
      targetLabel: { type: "string" },
      regex: { type: "string" },
      modulus: { type: "integer" },
      replacement: { type: "string" },
      action: { type: "string", enum: ["replace", "keep", "drop", "labelmap", "labeldrop", "labelkeep"] },
    },
  };
  const endpoint = {
    type: "object",
    properties: {
      port: { type: "string" },
      honorLabels: { type: "boolean" },
      interval: duration,
      scrapeTimeout: duration,
      bearerTokenFile: { type: "string" },
      relabelings: { type: "array", items: relabeling },
      metricRelabelings: { type: "array", items: relabeling },
    },
  };
  return {
    type: "object",
    required: ["endpoints", "selector"],
    properties: {
      namespaceSelector: { type: "object", properties: { matchNames: names } },
      selector: { type: "object", properties: { matchLabels: labels } },
      endpoints: { type: "array", items: endpoint },
    },
  };
}

function prometheusRuleSpec(): object {
  const texts = { type: "object", additionalProperties: { type: "string" } };
  const rule = {
    type: "object",
    required: ["expr"],
    properties: {
      alert: { type: "string" },
      expr: { type: "string" },
      for: { type: "string", pattern: "^([0-9]+(ms|[smhdwy]))+$" },
      labels: texts,
      annotations: texts,
    },
  };
  const group = {
    type: "object",
    required: ["name"],
    properties: { name: { type: "string", minLength: 1 }, rules: { type: "array", items: rule } },
  };
  return { type: "object", properties: { groups: { type: "array", items: group } } };
}
