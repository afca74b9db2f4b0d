import { defined } from "../../../operator/normalize.ts";
import { gatewayOf, legalWildcard } from "./gateway.ts";
import type { JsonObject } from "./json.ts";
import { unless, unlessNothing, within } from "./pods.ts";
import type { ValuesReader } from "./values.ts";

/** How users reach coderd or a proxy; only the chart `coder` has values for these fields. */
export function servingFields(reader: ValuesReader): JsonObject {
  return defined({
    envFrom: reader.list("coder.envFrom"),
    tls: within("secretNames", reader.list("coder.tls.secretNames")),
    service: serviceOf(reader),
    expose: exposeOf(reader),
    ...probes(reader),
  });
}

/** Omits fields of the chart's Service that depend on its type, as the chart does. */
function serviceOf(reader: ValuesReader): JsonObject | undefined {
  const path = "coder.service";
  if (reader.flag(`${path}.enable`) === false) {
    reader.remark(
      `${path}.enable`,
      "The operator connects to coderd through the Service, so the Service always exists.",
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

/**
 * Only one of both: if the chart creates both, the Ingress is kept because users connect through it today.
 */
function exposeOf(reader: ValuesReader): JsonObject | undefined {
  const [ingress, gateway] = [ingressOf(reader), gatewayOf(reader)];
  if (!ingress) return within("gateway", gateway);
  if (gateway)
    reader.remark(
      "coder.httproute",
      "Omitted: an object is exposed by an Ingress or by a Gateway, not by both.",
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
  reader.remark(`${path}.host`, "The Ingress is omitted: expose.ingress.host must be set to a host.");
  return undefined;
}

const PROBE_FIELDS = [
  "initialDelaySeconds",
  "periodSeconds",
  "timeoutSeconds",
  "successThreshold",
  "failureThreshold",
];

/** Non-zero numbers that the values set for a probe. */
function timing(reader: ValuesReader, path: string): JsonObject {
  const fields = PROBE_FIELDS.map(
    (field) => [field, reader.number(`${path}.${field}`) || undefined] as const,
  );
  return defined(Object.fromEntries(fields));
}

/**
 * Charts without `enabled` always set a liveness probe: it is dropped unless a delay covers long migrations.
 */
function probes(reader: ValuesReader): JsonObject {
  const [readiness, liveness] = ["coder.readinessProbe", "coder.livenessProbe"] as const;
  const isReady = reader.flag(`${readiness}.enabled`) ?? true;
  const [checks, restarts] = [timing(reader, readiness), timing(reader, liveness)];
  const isLive = reader.flag(`${liveness}.enabled`) ?? (restarts.initialDelaySeconds ? true : undefined);
  if (isLive === undefined) {
    reader.remark(
      liveness,
      "Omitted: it would restart coderd during a long migration. To keep it, set livenessProbe.enabled: true.",
    );
  } else if (!isLive && restarts.initialDelaySeconds) {
    reader.remark(
      liveness,
      "Omitted: the chart disables it unless livenessProbe.enabled is true; charts without that value enable it.",
    );
  }
  return defined({
    readinessProbe: isReady ? unlessNothing(checks) && { enabled: true, ...checks } : { enabled: false },
    livenessProbe: isLive ? { enabled: true, ...restarts } : undefined,
  });
}
