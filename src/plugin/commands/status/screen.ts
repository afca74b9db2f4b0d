import type { Problem } from "../../problems.ts";
import { age, type Level, mark, paragraph, section, separator } from "../../terminal/lines.ts";
import type { OutputStyle } from "../../terminal/output-style.ts";
import { table } from "../../terminal/table.ts";
import { dimmed, type Line, type Span, span } from "../../terminal/text.ts";
import type {
  Certificate,
  ControlPlaneReport,
  EntityReport,
  FirstAdmin,
  License,
  PoolReport,
  ProxyReport,
  State,
} from "./report.ts";

const LABEL_WIDTH = 12;
const INDENT = "  ";
/** Maximum number of organizations, of groups and of problems on the screen. */
const MAX_ROWS = 20;

/** One control plane on one screen. */
export function screen(report: ControlPlaneReport, style: OutputStyle): Line[] {
  const { name, namespace, problems, pools, proxies, organizations, groups, events } = report;
  const title = [mark(levelOf(report), style), span(` ${name}`, "bold"), span(` in namespace ${namespace}`)];
  return [
    title,
    ...facts(report, style).map(([label, ...spans]) => [
      span(INDENT + label.padEnd(LABEL_WIDTH), "dim"),
      ...spans,
    ]),
    ...section("POOLS", [...poolTable(pools, style), ...poolLegend(report, style)]),
    ...section("PROXIES", proxyTable(proxies, style)),
    ...section("ORGANIZATIONS", organizationTable(organizations, style)),
    ...section("GROUPS", groupTable(groups, style)),
    ...section("WHAT IS WRONG", [
      ...problems.slice(0, MAX_ROWS).flatMap((problem) => problemLines(problem, style)),
      ...omitted(problems, style),
    ]),
    ...section(
      "EVENTS",
      table(
        ["AGE", "OBJECT", "REASON", "MESSAGE"],
        events.map(({ at, object, reason, type, message, count }) => [
          span(age(at, style.now)),
          span(object),
          span(reason, type === "Warning" ? "yellow" : undefined),
          span(count > 1 ? `${message} (${count} times)` : message, "dim"),
        ]),
        { indent: INDENT, right: ["AGE"] },
      ),
    ),
  ];
}

/** The summary of a control plane. */
export function levelOf({ ready, paused, problems }: ControlPlaneReport): Level {
  if (problems.some(({ severity }) => severity === "wrong")) return "wrong";
  if (paused) return "unknown";
  return ready?.status === "True" && problems.length === 0 ? "good" : "waiting";
}

type Fact = readonly [label: string, ...spans: Span[]];

function facts(report: ControlPlaneReport, style: OutputStyle): Fact[] {
  const { ready, paused, health, version, image, upgrade, announced, pods, url, exposure, license, builds } =
    report;
  const dot = separator(style);
  const all: (Fact | undefined | false)[] = [
    ["Ready", ...stateSpans(ready, style), ...(paused ? [span(`${dot}paused`, "yellow")] : [])],
    health && ["Health", ...stateSpans(health, style)],
    ["Version", span([version ?? "not reported yet", image].filter(Boolean).join(dot))],
    upgrade && [
      "Upgrade",
      span(
        `${upgrade.stage} for ${age(upgrade.since, style.now)}${dot}${upgrade.from} to ${upgrade.to}`,
        "yellow",
      ),
    ],
    announced && ["Announced", span(announced.join(dot), "yellow")],
    ["Pods", span(`${pods.ready} of ${pods.wanted} ready`)],
    url !== undefined && ["URL", span(url)],
    exposure && ["Exposure", span(`${exposure.by}${dot}${exposure.hosts.join(", ")}`)],
    report.firstAdmin && ["First admin", ...firstAdminSpans(report.firstAdmin, dot)],
    ...report.certificates.map(
      (certificate): Fact => [
        "Certificate",
        span(`${certificate.secret}${dot}${certificate.servedBy}${dot}`),
        termSpan(certificate),
      ],
    ),
    license && ["License", span(licenseText(license, dot))],
    builds && ["Builds", span(builds.status === "True" ? "none pending" : builds.reason, toneOf(builds))],
  ];
  return all.filter((fact) => fact !== undefined && fact !== false);
}

function termSpan({ daysLeft, isMissing }: Certificate): Span {
  if (isMissing) return span("Secret does not exist", "red");
  return daysLeft === undefined ? span("days left unknown", "dim") : span(`${daysLeft} days left`);
}

function toneOf({ status }: State): "green" | "red" | "yellow" {
  return status === "True" ? "green" : status === "False" ? "red" : "yellow";
}

function stateSpans(state: State | undefined, style: OutputStyle): Span[] {
  if (!state) return [span("not reported yet", "dim")];
  const { status, reason } = state;
  return [
    span(status === "True" ? "yes" : status === "False" ? "no" : "unknown", toneOf(state)),
    span(`${separator(style)}${reason}`),
  ];
}

function firstAdminSpans({ username, state, passwordSecret }: FirstAdmin, dot: string): Span[] {
  const reason = state ? span(state.reason, toneOf(state)) : span("not reported yet", "dim");
  const secret =
    passwordSecret === undefined ? [] : [span(`${dot}initial password in Secret ${passwordSecret}`)];
  return [span(`${username}${dot}`), reason, ...secret];
}

function licenseText({ tier, expires, daysLeft, seatsUsed, seatsAllowed }: License, dot: string): string {
  const term = expires && daysLeft !== undefined ? `until ${expires.slice(0, 10)} (${daysLeft} days)` : "";
  const seats = seatsUsed === undefined ? "" : `${seatsUsed} of ${seatsAllowed ?? "unlimited"} seats`;
  return [tier, term, seats].filter(Boolean).join(dot);
}

function poolTable(pools: readonly PoolReport[], style: OutputStyle): Line[] {
  const number = (value: number | undefined) => span(value === undefined ? "-" : `${value}`);
  const numbers = ["READY", "WANTED", "BUSY", "IDLE", "PENDING"];
  return table(
    ["", "NAME", ...numbers, "LIMITS", "ORGANIZATION", "TAGS"],
    pools.map((pool) => [
      rowMark(pool, style),
      span(pool.name),
      ...[pool.daemons, pool.wanted, pool.busy, pool.idle, pool.pending].map(number),
      span(pool.limits ?? "fixed"),
      span(pool.organization ?? "-"),
      span(tagText(pool.tags)),
    ]),
    { indent: INDENT, right: numbers },
  );
}

function poolLegend({ pools, isCoderdAsked }: ControlPlaneReport, style: OutputStyle): Line[] {
  if (isCoderdAsked || pools.every(({ limits }) => limits !== undefined)) return [];
  const legend =
    "A dash means unknown: only coderd knows this of pools with a fixed number of daemons. Set CODER_URL and CODER_SESSION_TOKEN to ask it.";
  return paragraph(legend, style, INDENT).map(dimmed);
}

function proxyTable(proxies: readonly ProxyReport[], style: OutputStyle): Line[] {
  return table(
    ["", "NAME", "READY", "HEALTH", "HOST"],
    proxies.map((proxy) => [
      rowMark(proxy, style),
      span(proxy.name),
      span(`${proxy.pods}/${proxy.wanted}`),
      span(proxy.health ?? "-"),
      span(proxy.host ?? "-"),
    ]),
    { indent: INDENT },
  );
}

function organizationTable(organizations: readonly EntityReport[], style: OutputStyle): Line[] {
  const rows = organizations.slice(0, MAX_ROWS).map((each) => entityCells(each, style));
  return [
    ...table(["", "NAME", "READY", "NAME IN CODER"], rows, { indent: INDENT }),
    ...omitted(organizations, style),
  ];
}

function groupTable(groups: readonly EntityReport[], style: OutputStyle): Line[] {
  const rows = groups
    .slice(0, MAX_ROWS)
    .map((group) => [...entityCells(group, style), span(group.organization ?? "-")]);
  const titles = ["", "NAME", "READY", "NAME IN CODER", "ORGANIZATION"];
  return [...table(titles, rows, { indent: INDENT }), ...omitted(groups, style)];
}

function entityCells(entity: EntityReport, style: OutputStyle): Span[] {
  const { name, ready, paused, nameInCoder } = entity;
  const state = paused ? "paused" : (ready?.reason ?? "-");
  return [rowMark(entity, style), span(name), span(state), span(nameInCoder)];
}

/** Those that the screen shows come first, because they need attention. */
function omitted({ length }: readonly unknown[], style: OutputStyle): Line[] {
  if (length <= MAX_ROWS) return [];
  return paragraph(`${length - MAX_ROWS} more are in the output of -o json.`, style, INDENT).map(dimmed);
}

function rowMark({ ready, paused }: PoolReport | ProxyReport | EntityReport, style: OutputStyle): Span {
  const levels: Readonly<Record<string, Level>> = { True: "good", False: "wrong" };
  return mark(paused ? "unknown" : (levels[ready?.status ?? ""] ?? "waiting"), style);
}

function tagText(tags: Readonly<Record<string, string>>): string {
  return (
    Object.entries(tags)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => `${key}=${value}`)
      .join(",") || "-"
  );
}

/** What is wrong, with which object, since when, and what to do, in the operator's words. */
export function problemLines(
  { severity, object, condition, reason, message, since }: Problem,
  style: OutputStyle,
): Line[] {
  const lasting = since ? ` for ${age(since, style.now)}` : "";
  return [
    [
      span(INDENT),
      mark(severity, style),
      span(` ${object}`, "bold"),
      span(` ${condition}: ${reason}${lasting}`),
    ],
    ...paragraph(message, style, `${INDENT}${INDENT}`),
  ];
}
