import type { ConditionState } from "kube-controller-runtime";
import type { HealthFinding, HealthSection } from "../../../coder/health.ts";

const NO_DAEMONS = "EPD01";

/** Meaning of coderd's codes, and what to do. */
const meanings: Readonly<Record<string, string>> = {
  EACS01: "no access URL is set; set CODER_ACCESS_URL",
  EACS02: "the access URL is not valid; correct CODER_ACCESS_URL",
  EACS03:
    "coderd cannot reach its own access URL; check DNS, the certificate and the network path from the pods",
  EACS04:
    "the server at the access URL is not coderd; check CODER_ACCESS_URL and the server that it points to",
  EDB01: "coderd cannot reach its database; check the database and CODER_PG_CONNECTION_URL",
  EDB02: "the database responds slowly; check its load and the network",
  EDERP01:
    "a relay is reachable only over WebSocket, which is slower; allow the upgrade to DERP in the proxy in front of it",
  EDERP02: "a node of a relay region is down; check the node",
  EDERP03:
    "there are no relays, so workspaces are reachable only over direct connections; set CODER_DERP_SERVER_ENABLE, or configure relays with CODER_DERP_CONFIG_URL",
  EIF01:
    "a network interface has a small MTU, so connections to workspaces may be slow; check the network of the nodes",
  EPD01: "no provisioner daemon is connected, so builds do not start; check the CoderProvisioners",
  EPD02: "provisioner daemons run a different version than coderd; upgrade them",
  EPD03: "provisioner daemons use an outdated protocol; upgrade them",
  ESTUN01:
    "no STUN server is reachable, so connections to workspaces use relays; check CODER_DERP_SERVER_STUN_ADDRESSES",
  ESTUN02:
    "the network uses a different port mapping for each destination (hard NAT), so connections to workspaces use relays",
  EWP01: "coderd cannot update the health of its workspace proxies; check its log",
  EWP02: "coderd cannot list its workspace proxies; check its log",
  EWP04: "a workspace proxy is unhealthy; check the CoderWorkspaceProxies",
  EWS01: "WebSocket connections to the access URL fail; allow WebSockets in the proxy in front of coderd",
  EWS02:
    "WebSocket connections to the access URL do not transfer messages; check the proxy in front of coderd",
  EWS03:
    "WebSocket connections to the access URL transfer wrong messages; check the proxy in front of coderd",
};

/** Texts for unknown codes and condition reasons, by section. */
const sections: Readonly<Record<HealthSection, { readonly about: string; readonly reason: string }>> = {
  access_url: { about: "the access URL", reason: "AccessURLFailing" },
  database: { about: "the database", reason: "DatabaseFailing" },
  derp: { about: "relays (DERP)", reason: "RelaysFailing" },
  provisioner_daemons: { about: "provisioner daemons", reason: "ProvisionerDaemonsFailing" },
  websocket: { about: "WebSocket connections", reason: "WebSocketsFailing" },
  workspace_proxy: { about: "workspace proxies", reason: "WorkspaceProxiesFailing" },
};

/**
 * Converts findings to a condition: an error makes it False; warnings are only listed. With `canScaleToZero`,
 * missing daemons are not a problem.
 */
export function verdict(findings: readonly HealthFinding[], canScaleToZero: boolean): ConditionState {
  const counted = findings.filter(({ code }) => !canScaleToZero || code !== NO_DAEMONS).toSorted(bySeverity);
  const [gravest] = counted;
  const rest = canScaleToZero
    ? " EPD01 (no daemon is connected) is ignored because all pools can scale to zero."
    : "";
  if (!gravest)
    return {
      status: "True",
      reason: "ChecksPass",
      message: `The health checks of coderd found no problems.${rest}`,
    };
  const message = `The health checks of coderd found ${counted.map(words).join("; ")}. See /health in the Coder dashboard.${rest}`;
  return gravest.isError
    ? { status: "False", reason: sections[gravest.section].reason, message }
    : { status: "True", reason: "ChecksWarn", message };
}

function words({ code, section, isError }: HealthFinding): string {
  const kind = isError ? "error" : "warning";
  return `${kind} ${code}: ${meanings[code] ?? `a problem with ${sections[section].about}; check coderd's log`}`;
}

const order = Object.keys(sections);

/** Errors first, in a stable order, so that the message changes only with the findings. */
function bySeverity(one: HealthFinding, other: HealthFinding): number {
  return (
    Number(other.isError) - Number(one.isError) ||
    order.indexOf(one.section) - order.indexOf(other.section) ||
    one.code.localeCompare(other.code, "en")
  );
}
