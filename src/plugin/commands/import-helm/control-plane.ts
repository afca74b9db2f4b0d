import { defined, unlessEmpty } from "../../../operator/normalize.ts";
import { chartGracePeriodSeconds } from "./chart-defaults.ts";
import { type Json, type JsonObject, propertyOf } from "./json.ts";
import { accountFields, extraArgs, named, podFields, unless, variables } from "./pods.ts";
import type { Release } from "./release.ts";
import { servingFields } from "./serving.ts";
import type { ValuesReader } from "./values.ts";

/**
 * The chart gives its Service, Ingress and ServiceAccount this name, regardless of the name of the release.
 */
export const CONTROL_PLANE_NAME = "coder";

/**
 * Addresses that the chart always sets, and that have no effect until another variable enables the feature.
 */
const ADDRESSES = { CODER_PROMETHEUS_ADDRESS: "0.0.0.0:2112", CODER_PPROF_ADDRESS: "0.0.0.0:6060" };

export function controlPlaneSpec(reader: ValuesReader, release: Release): JsonObject {
  const usesClusterURL = reader.flag("coder.envUseClusterAccessURL");
  return defined({
    ...podFields(reader, release),
    ...servingFields(reader),
    ...accountFields(reader, CONTROL_PLANE_NAME),
    extraArgs: extraArgs(reader, ["server"]),
    extraEnv: unlessEmpty([...preSharedKey(reader), ...variables(reader, ADDRESSES)]),
    envUseClusterAccessURL: unless(true, usesClusterURL),
    terminationGracePeriodSeconds: chartGracePeriodSeconds,
  });
}

/** For external daemons; the operator's daemons have keys. */
function preSharedKey(reader: ValuesReader): JsonObject[] {
  const name = reader.text("provisionerDaemon.pskSecretName");
  if (name === undefined) return [];
  return [{ name: "CODER_PROVISIONER_DAEMON_PSK", valueFrom: { secretKeyRef: { name, key: "psk" } } }];
}

/** Variables for the relay between replicas of a proxy, which the chart always sets. */
const RELAY = [
  { name: "KUBE_POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
  { name: "CODER_DERP_SERVER_RELAY_URL", value: "http://$(KUBE_POD_IP):3001" },
];

/** A release with `coder.workspaceProxy` becomes a CoderWorkspaceProxy. */
export function workspaceProxySpec(reader: ValuesReader, release: Release): JsonObject {
  const env = variables(reader, ADDRESSES);
  const { value: primaryAccessURL } = named(env, "CODER_PRIMARY_ACCESS_URL") ?? {};
  const valueFrom = named(env, "CODER_PROXY_SESSION_TOKEN")?.valueFrom;
  const proxySessionTokenSecretRef = propertyOf(valueFrom, "secretKeyRef");
  if (proxySessionTokenSecretRef === undefined) {
    reader.remark(
      "coder.env.CODER_PROXY_SESSION_TOKEN",
      "Put the token into a Secret and name it in proxySessionTokenSecretRef, or let the operator register the proxy with controlPlaneRef or bootstrap.",
    );
  }
  for (const path of ["coder.serviceAccount", "provisionerDaemon.pskSecretName"]) {
    if (reader.isGiven(path))
      reader.remark(path, "A proxy does not use the Kubernetes API, so it has no such field.");
  }
  return defined({
    ...podFields(reader, release),
    ...servingFields(reader),
    extraArgs: extraArgs(reader, ["wsproxy", "server"]),
    extraEnv: [...RELAY, ...env.filter((variable) => !isOfProxy(variable))],
    primaryAccessURL,
    proxySessionTokenSecretRef,
    terminationGracePeriodSeconds: chartGracePeriodSeconds,
  });
}

function isOfProxy(variable: Json): boolean {
  const name = propertyOf(variable, "name");
  return name === "CODER_PRIMARY_ACCESS_URL" || name === "CODER_PROXY_SESSION_TOKEN";
}
