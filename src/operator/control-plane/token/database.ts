import { fingerprint } from "kube-controller-runtime";
import { parseConnectionUrl } from "../../../coder/operator-access/connection-url.ts";
import type { DatabaseFailure } from "../../../coder/operator-access/failure.ts";
import { failed, type Result, succeeded } from "../../../coder/result.ts";
import type { AccessFailure } from "../../coderd/access-failure.ts";
import { variableKey, variableValue } from "../../workload/env-sources.ts";
import type { Snapshot } from "../observe.ts";
import { databaseLoginVariable, databaseVariable } from "../references.ts";
import type { TokenRun } from "./check.ts";

/** Value for IAM authentication to Amazon RDS instead of a password. */
const CLOUD_IDENTITY = "awsiamrds";
const LOGIN_FLAG = "--postgres-auth";

/** Whether coderd logs in with the cloud identity of its pod. A flag takes precedence over the variable. */
function usesCloudIdentity({ controlPlane: { pod }, sources }: Snapshot): boolean {
  const flag = pod.extraArgs.findLastIndex((argument) => argument.split("=", 1)[0] === LOGIN_FLAG);
  if (flag >= 0)
    return (pod.extraArgs[flag]?.split("=")[1] ?? pod.extraArgs[flag + 1])?.trim() === CLOUD_IDENTITY;
  const login = variableValue(databaseLoginVariable, pod, sources);
  return login.kind === "value" && login.value.trim() === CLOUD_IDENTITY;
}

/** The URL of coderd's database in the spec, if the operator can log in. */
export function connectionUrl(snapshot: Snapshot): Result<string, AccessFailure> {
  const { controlPlane, sources } = snapshot;
  if (usesCloudIdentity(snapshot)) {
    const message = `coderd logs in to its database with the cloud identity of its pod (${databaseLoginVariable}), which the operator does not have; provide a token with spec.operatorAccess.tokenSecretRef.`;
    return failed({ kind: "cloudIdentity", message });
  }
  const found = variableValue(databaseVariable, controlPlane.pod, sources);
  if (found.kind === "value" && found.value.trim() !== "") return succeeded(found.value.trim());
  if (found.kind === "missing") {
    const { kind, name, key } = found.source;
    const message = `${kind} "${name}" does not exist or has no key "${key}", which sets ${databaseVariable}; create it or correct spec.extraEnv.`;
    return failed({ kind: kind === "Secret" ? "secretMissing" : "configMapMissing", message });
  }
  if (found.kind === "tooLong") {
    const message = `The value of ${databaseVariable} is longer than 32 KiB; set only the connection URL.`;
    return failed({ kind: "invalidUrl", message });
  }
  if (found.kind === "unreadable") {
    const message = `${databaseVariable} depends on "${found.variable}", which comes from a pod field that the operator cannot read; set it with value or secretKeyRef, or provide a token with spec.operatorAccess.tokenSecretRef.`;
    return failed({ kind: "noConnectionUrl", message });
  }
  const message = `${databaseVariable} is not set in spec.extraEnv or spec.envFrom; set it, or provide a token with spec.operatorAccess.tokenSecretRef.`;
  return failed({ kind: "noConnectionUrl", message });
}

/**
 * Adds the host that does not resolve and its source to the failure, and suggests a name that resolves in the
 * operator's namespace, because coderd resolves names in its own namespace.
 */
export function withHost(
  failure: DatabaseFailure,
  { snapshot: { controlPlane, sources }, tenancy }: Pick<TokenRun, "snapshot" | "tenancy">,
  connectionUrl: string,
): DatabaseFailure {
  if (failure.kind !== "unreachable" || !failure.isNameUnknown) return failure;
  const settings = parseConnectionUrl(connectionUrl);
  if (!settings.ok || !HOST_NAME.test(settings.value.host)) return failure;
  const { host } = settings.value;
  const key = variableKey(databaseVariable, controlPlane.pod, sources);
  const origin = key ? `${key.kind} "${key.name}", key "${key.key}"` : "spec.extraEnv";
  const namespace = tenancy.operatorNamespace;
  const from = namespace ? `namespace "${namespace}"` : "the operator's namespace";
  const advice = host.includes(".")
    ? "correct it or check DNS"
    : `use its full name, for example ${host}.${controlPlane.identity.namespace}.svc, and percent-encode special characters of the credentials`;
  return { ...failure, message: `Host "${host}" (${origin}) does not resolve from ${from}; ${advice}.` };
}

/** Part of a connection URL that is safe to show. */
const HOST_NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i;

/** A database attempt. A change of the spec, the URL or the inputs repeats it immediately. */
export function databaseAttempt(snapshot: Snapshot, inputs: readonly string[]) {
  const url = connectionUrl(snapshot);
  const { generation } = snapshot.object.metadata;
  const parts = [url.ok ? url.value : url.failure.kind, String(generation), ...inputs];
  return { inputs: fingerprint(parts), now: snapshot.now };
}
