import type { ConditionState } from "kube-controller-runtime";
import type { WorkspaceProxy } from "../../coder/model.ts";
import { redact } from "../../coder/redact.ts";
import type { Snapshot } from "./observe.ts";
import { registrationOf } from "./spec.ts";
import type { WorkspaceProxyResult } from "./status.ts";

/** Publishes the health of the proxy as reported by coderd. `seen` is absent if coderd could not be asked. */
export async function reportHealth(
  { proxy }: Snapshot,
  _environment: unknown,
  seen: WorkspaceProxy | undefined,
): Promise<WorkspaceProxyResult> {
  if (!registrationOf(proxy))
    return notKnown(
      "NotManaged",
      "The operator does not check the health because the spec contains a token; see the Coder dashboard.",
      undefined,
    );
  if (!seen) return notKnown("NotSeen", "The operator cannot read the proxy from coderd.", UNKNOWN);
  return { status: { health: seen.status }, condition: verdict(seen) };
}

/** Health of a registered proxy that could not be queried. The previous value may be outdated. */
const UNKNOWN = "unknown";

function notKnown(reason: string, message: string, health: string | undefined): WorkspaceProxyResult {
  return { status: { health }, condition: { status: "Unknown", reason, message } };
}

function verdict(seen: WorkspaceProxy): ConditionState {
  switch (seen.status) {
    case "ok":
      return {
        status: "True",
        reason: "Reachable",
        message: "coderd can reach the proxy and found no problems.",
      };
    case "unregistered":
      return {
        status: "False",
        reason: "NotReported",
        message: "No pod of the proxy has reported to coderd yet; if this persists, check its log.",
      };
    case "unreachable":
      return {
        status: "False",
        reason: "Unreachable",
        message: `coderd cannot reach the proxy at its access URL${complaints(seen)}; see spec.expose and CODER_ACCESS_URL.`,
      };
    case "unhealthy":
      return {
        status: "False",
        reason: "Unhealthy",
        message: `coderd can reach the proxy but found problems${complaints(seen)}; check that the proxy and coderd have the same version.`,
      };
    default:
      return { status: "Unknown", reason: "NotChecked", message: "coderd has not checked the proxy yet." };
  }
}

/** Removes the source port of connections, which differs each time and would cause status writes. */
function complaints({ errors }: WorkspaceProxy): string {
  return errors.length > 0 ? `: ${redact(errors.join("; ")).replace(/:\d+->/g, "->")}` : "";
}
