import { fingerprint } from "kube-controller-runtime";
import { failed, type Result, succeeded } from "../../../coder/result.ts";
import { variableValue } from "../../pods/env-sources.ts";
import type { Snapshot } from "../observe.ts";
import { databaseVariable } from "../references.ts";
import type { AccessFailure } from "./failure.ts";

/** The URL of coderd's database, as the spec gives it. */
export function connectionUrl({ controlPlane, sources }: Snapshot): Result<string, AccessFailure> {
  const found = variableValue(databaseVariable, controlPlane.pod, sources);
  if (found.kind === "value" && found.value.trim() !== "") return succeeded(found.value.trim());
  if (found.kind === "missing") {
    const { kind, name, key } = found.source;
    const message = `${kind} "${name}" does not exist or has no key "${key}", from which ${databaseVariable} comes; create it or correct spec.extraEnv.`;
    return failed({ kind: kind === "Secret" ? "secretMissing" : "configMapMissing", message });
  }
  if (found.kind === "tooLong") {
    const message = `The value of ${databaseVariable} is longer than 32 KiB; give the connection URL alone.`;
    return failed({ kind: "invalidUrl", message });
  }
  const message = `${databaseVariable} is not set in spec.extraEnv or spec.envFrom; set it, or give a token with spec.operatorAccess.tokenSecretRef.`;
  return failed({ kind: "noConnectionUrl", message });
}

/** An attempt at the database, which another spec, another URL or other inputs are reason enough to repeat at once. */
export function databaseAttempt(snapshot: Snapshot, inputs: readonly string[]) {
  const url = connectionUrl(snapshot);
  const { generation } = snapshot.object.metadata;
  const parts = [url.ok ? url.value : url.failure.kind, String(generation), ...inputs];
  return { inputs: fingerprint(parts), now: snapshot.now };
}
