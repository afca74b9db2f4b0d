import type { ConditionState } from "kube-controller-runtime";
import type { HealthFinding, HealthSection } from "../../../coder/health.ts";

const NO_DAEMONS = "EPD01";

/** What each of coderd's codes means, and what helps. */
const meanings: Readonly<Record<string, string>> = {
  EACS01: "no access URL is set; set CODER_ACCESS_URL",
  EACS02: "the access URL is not valid; correct CODER_ACCESS_URL",
  EACS03:
    "coderd can't reach its own access URL; check its DNS name, its certificate and the way there from the pods",
  EACS04: "something else than coderd answers at the access URL; check CODER_ACCESS_URL and what it leads to",
  EDB01: "coderd can't reach its database; check the database and CODER_PG_CONNECTION_URL",
  EDB02: "the database answers slowly; check its load and the network to it",
  EDERP01:
    "a relay is reached only by WebSocket, which is slower; let the proxy before it pass the upgrade to DERP",
  EDERP02: "one node of a relay region is down; check it",
  EDERP03:
    "there is no relay, so workspaces are reached only where a direct connection is possible; turn on CODER_DERP_SERVER_ENABLE or name relays with CODER_DERP_CONFIG_URL",
  EIF01:
    "a network interface has a small MTU, so connections to workspaces may be slow; check the network of the nodes",
  EPD01: "no provisioner daemon is connected, so nothing is built; check the CoderProvisioners",
  EPD02: "provisioner daemons run another version than coderd; upgrade them",
  EPD03: "provisioner daemons speak an outdated protocol; upgrade them",
  ESTUN01:
    "no STUN server can be reached, so connections to workspaces go through relays; check CODER_DERP_SERVER_STUN_ADDRESSES",
  ESTUN02: "the network maps ports anew for each destination, so connections to workspaces go through relays",
  EWP01: "coderd can't update the health of its workspace proxies; check its log",
  EWP02: "coderd can't list its workspace proxies; check its log",
  EWP04: "a workspace proxy is unhealthy; check the CoderWorkspaceProxies",
  EWS01: "no WebSocket can be opened at the access URL; let the proxy before coderd pass WebSockets",
  EWS02: "WebSockets at the access URL pass no messages; check the proxy before coderd",
  EWS03: "WebSockets at the access URL pass wrong messages; check the proxy before coderd",
};

/** Where a finding without a known code was made, and the reason that it gives the condition. */
const sections: Readonly<Record<HealthSection, { readonly about: string; readonly reason: string }>> = {
  access_url: { about: "the access URL", reason: "AccessURLFailing" },
  database: { about: "the database", reason: "DatabaseFailing" },
  derp: { about: "relays (DERP)", reason: "RelaysFailing" },
  provisioner_daemons: { about: "provisioner daemons", reason: "ProvisionerDaemonsFailing" },
  websocket: { about: "connections by WebSocket", reason: "WebSocketsFailing" },
  workspace_proxy: { about: "workspace proxies", reason: "WorkspaceProxiesFailing" },
};

/**
 * What the findings mean for the condition: an error makes it False, warnings are only named. With `mayRest` the absence of
 * daemons is no fault.
 */
export function verdict(findings: readonly HealthFinding[], mayRest: boolean): ConditionState {
  const counted = findings.filter(({ code }) => !mayRest || code !== NO_DAEMONS).toSorted(byGravity);
  const [gravest] = counted;
  const rest = mayRest
    ? " Every pool may rest at zero, so EPD01 (no daemon is connected) does not count."
    : "";
  if (!gravest)
    return { status: "True", reason: "ChecksPass", message: `coderd's own checks find no fault.${rest}` };
  const message = `coderd's own checks report ${counted.map(words).join("; ")}. See the page /health of coderd.${rest}`;
  return gravest.isError
    ? { status: "False", reason: sections[gravest.section].reason, message }
    : { status: "True", reason: "ChecksWarn", message };
}

function words({ code, section, isError }: HealthFinding): string {
  const kind = isError ? "error" : "warning";
  return `${kind} ${code}: ${meanings[code] ?? `a fault of ${sections[section].about}; check coderd's log`}`;
}

const order = Object.keys(sections);

/** Errors first, and always in the same order: a report that only lists them otherwise is no news. */
function byGravity(one: HealthFinding, other: HealthFinding): number {
  return (
    Number(other.isError) - Number(one.isError) ||
    order.indexOf(one.section) - order.indexOf(other.section) ||
    one.code.localeCompare(other.code, "en")
  );
}
