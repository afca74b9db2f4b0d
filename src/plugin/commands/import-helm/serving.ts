import { defined } from "../../../operator/normalize.ts";
import { gatewayOf, legalWildcard } from "./gateway.ts";
import type { JsonObject } from "./json.ts";
import { unless, unlessNothing, within } from "./pods.ts";
import type { ValuesReader } from "./values.ts";

/** How people reach coderd or a proxy: fields that only the chart `coder` has values for. */
export function servingFields(reader: ValuesReader): JsonObject {
  return defined({
    envFrom: reader.list("coder.envFrom"),
    tls: within("secretNames", reader.list("coder.tls.secretNames")),
    service: serviceOf(reader),
    expose: exposeOf(reader),
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

/** One way alone: the chart can make both, and the Ingress is the one that people come by today. */
function exposeOf(reader: ValuesReader): JsonObject | undefined {
  const [ingress, gateway] = [ingressOf(reader), gatewayOf(reader)];
  if (!ingress) return within("gateway", gateway);
  if (gateway)
    reader.remark(
      "coder.httproute",
      "Left out: an object is exposed by an Ingress or by a Gateway, not by both.",
    );
  return { ingress };
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

const PROBE_FIELDS = [
  "initialDelaySeconds",
  "periodSeconds",
  "timeoutSeconds",
  "successThreshold",
  "failureThreshold",
];

/** Numbers other than 0 that the values give a probe. */
function timing(reader: ValuesReader, path: string): JsonObject {
  const fields = PROBE_FIELDS.map(
    (field) => [field, reader.number(`${path}.${field}`) || undefined] as const,
  );
  return defined(Object.fromEntries(fields));
}

/**
 * Charts that have no `enabled` always set a liveness probe: it stays out unless a delay covers what it would interrupt.
 */
function probes(reader: ValuesReader): JsonObject {
  const [readiness, liveness] = ["coder.readinessProbe", "coder.livenessProbe"] as const;
  const isReady = reader.flag(`${readiness}.enabled`) ?? true;
  const [checks, restarts] = [timing(reader, readiness), timing(reader, liveness)];
  const isLive = reader.flag(`${liveness}.enabled`) ?? (restarts.initialDelaySeconds ? true : undefined);
  if (isLive === undefined) {
    reader.remark(
      liveness,
      "Left out: it would restart coderd in the middle of a long migration. livenessProbe.enabled: true brings it back.",
    );
  } else if (!isLive && restarts.initialDelaySeconds) {
    reader.remark(
      liveness,
      "Left out: the chart turns it off unless livenessProbe.enabled is true; charts without that value turn it on.",
    );
  }
  return defined({
    readinessProbe: isReady ? unlessNothing(checks) && { enabled: true, ...checks } : { enabled: false },
    livenessProbe: isLive ? { enabled: true, ...restarts } : undefined,
  });
}
