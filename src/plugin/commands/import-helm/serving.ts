import { defined } from "../../../operator/normalize.ts";
import type { JsonObject } from "./json.ts";
import { unless, unlessNothing, within } from "./pods.ts";
import type { ValuesReader } from "./values.ts";

/** How people reach coderd or a proxy: fields that only the chart `coder` has values for. */
export function servingFields(reader: ValuesReader): JsonObject {
  return defined({
    envFrom: reader.list("coder.envFrom"),
    tls: within("secretNames", reader.list("coder.tls.secretNames")),
    service: serviceOf(reader),
    expose: within("ingress", ingressOf(reader)),
    ...probes(reader),
  });
}

/** Fields of the chart's Service that depend on its type are left out where the chart leaves them out. */
function serviceOf(reader: ValuesReader): JsonObject | undefined {
  const path = "coder.service";
  if (reader.flag(`${path}.enable`) === false) {
    reader.remark(
      `${path}.enable`,
      "The operator reaches coderd through the Service, so there always is one.",
    );
  }
  const type = reader.text(`${path}.type`);
  const balanced = {
    loadBalancerIP: reader.text(`${path}.loadBalancerIP`),
    loadBalancerClass: reader.text(`${path}.loadBalancerClass`),
    externalTrafficPolicy: unless("Cluster", reader.text(`${path}.externalTrafficPolicy`)),
  };
  const onNodes = {
    httpNodePort: reader.number(`${path}.httpNodePort`),
    httpsNodePort: reader.number(`${path}.httpsNodePort`),
  };
  return unlessNothing(
    defined({
      type: unless("ClusterIP", type),
      annotations: reader.map(`${path}.annotations`),
      sessionAffinity: unless("None", reader.text(`${path}.sessionAffinity`)),
      ...(type === "LoadBalancer" ? balanced : {}),
      ...(type === "LoadBalancer" || type === "NodePort" ? onNodes : {}),
    }),
  );
}

function ingressOf(reader: ValuesReader): JsonObject | undefined {
  const path = "coder.ingress";
  const hasTls = reader.flag(`${path}.tls.enable`) === true;
  const tls = defined({
    secretName: reader.text(`${path}.tls.secretName`),
    wildcardSecretName: reader.text(`${path}.tls.wildcardSecretName`),
  });
  const host = reader.text(`${path}.host`);
  const fields = defined({
    className: reader.text(`${path}.className`),
    host,
    wildcardHost: legalWildcard(reader.text(`${path}.wildcardHost`)),
    annotations: reader.map(`${path}.annotations`),
    tls: hasTls ? unlessNothing(tls) : undefined,
  });
  if (reader.flag(`${path}.enable`) !== true) return undefined;
  if (host !== undefined) return fields;
  reader.remark(`${path}.host`, "The Ingress is left out: expose.ingress.host must name a host.");
  return undefined;
}

/** An Ingress knows no suffix of a wildcard, so the chart drops it too. */
function legalWildcard(host: string | undefined): string | undefined {
  return host?.replace(/^\*[^.]*\./, "*.");
}

/** The chart's liveness probe stays out unless somebody gave it a delay that covers what it would interrupt. */
function probes(reader: ValuesReader): JsonObject {
  const readiness = reader.number("coder.readinessProbe.initialDelaySeconds");
  const liveness = reader.number("coder.livenessProbe.initialDelaySeconds");
  if (!liveness) {
    reader.remark(
      "coder.livenessProbe",
      "Left out: it would restart coderd in the middle of a long migration. livenessProbe.enabled: true brings it back.",
    );
  }
  return defined({
    readinessProbe: readiness ? { enabled: true, initialDelaySeconds: readiness } : undefined,
    livenessProbe: liveness ? { enabled: true, initialDelaySeconds: liveness } : undefined,
  });
}
