import type { Problem } from "../../problems.ts";
import { age, type Level, mark, paragraph, section, separator } from "../../terminal/lines.ts";
import type { OutputStyle } from "../../terminal/output-style.ts";
import { table } from "../../terminal/table.ts";
import { type Line, type Span, span } from "../../terminal/text.ts";
import type { Certificate, ControlPlaneReport, FirstAdmin, License, State } from "./report.ts";
import {
  groupTable,
  INDENT,
  MAX_ROWS,
  omitted,
  organizationTable,
  poolLegend,
  poolTable,
  proxyTable,
} from "./tables.ts";

const LABEL_WIDTH = 12;

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
