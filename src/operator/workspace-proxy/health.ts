import type { ConditionState } from "kube-controller-runtime";
import type { WorkspaceProxy } from "../../coder/model.ts";
import { redact } from "../../coder/redact.ts";
import type { Snapshot } from "./observe.ts";
import { registrationOf } from "./spec.ts";
import type { WorkspaceProxyResult } from "./status.ts";

/** Publishes the health of the proxy as coderd sees it. `seen` is absent when coderd could not be asked. */
export async function reportHealth(
  { proxy }: Snapshot,
  _environment: unknown,
  seen: WorkspaceProxy | undefined,
): Promise<WorkspaceProxyResult> {
  if (!registrationOf(proxy))
    return notKnown(
      "NotManaged",
      "The spec gives a token; ask coderd for the health of the proxy.",
      undefined,
    );
  if (!seen)
    return notKnown("NotSeen", "coderd does not show the proxy to the operator at the moment.", UNKNOWN);
  return { status: { health: seen.status }, condition: verdict(seen) };
}

/** What stands for the health of a proxy that could be asked for, in the place of one that may be out of date. */
const UNKNOWN = "unknown";

function notKnown(reason: string, message: string, health: string | undefined): WorkspaceProxyResult {
  return { status: { health }, condition: { status: "Unknown", reason, message } };
}

function verdict(seen: WorkspaceProxy): ConditionState {
  switch (seen.status) {
    case "ok":
      return { status: "True", reason: "Reachable", message: "coderd reaches the proxy and finds no fault." };
    case "unregistered":
      return {
        status: "False",
        reason: "NotReported",
        message: "No pod of the proxy has reported to coderd yet; if this lasts, check its log.",
      };
    case "unreachable":
      return {
        status: "False",
        reason: "Unreachable",
        message: `coderd can't reach the proxy at its access URL${complaints(seen)}; see spec.expose and CODER_ACCESS_URL.`,
      };
    case "unhealthy":
      return {
        status: "False",
        reason: "Unhealthy",
        message: `coderd reaches the proxy and finds fault with it${complaints(seen)}; check that its version is that of coderd.`,
      };
    default:
      return { status: "Unknown", reason: "NotChecked", message: "coderd has not checked the proxy yet." };
  }
}

/** The port that a connection came from differs each time: news for nobody, and a write of the status. */
function complaints({ errors }: WorkspaceProxy): string {
  return errors.length > 0 ? `: ${redact(errors.join("; ")).replace(/:\d+->/g, "->")}` : "";
}
