import { gapLines, mark, paragraph, section } from "../../terminal/lines.ts";
import type { OutputStyle } from "../../terminal/output-style.ts";
import { table } from "../../terminal/table.ts";
import { type Line, span } from "../../terminal/text.ts";
import type { ControlPlaneReport, StatusReport } from "./report.ts";
import { levelOf, problemLines, screen } from "./screen.ts";

/** A screen for one control plane, a table for several; gaps come last. */
export function statusLines(
  { operator, controlPlanes, others, gaps }: StatusReport,
  style: OutputStyle,
): Line[] {
  const [first, ...more] = controlPlanes;
  const body = !first
    ? none(gaps)
    : more.length === 0
      ? screen(first, style)
      : overview(controlPlanes, style);
  const orphans = others.flatMap((each) => problemLines(each, style));
  const all = [
    ...operatorLines(operator, style),
    ...body,
    ...section("WITHOUT THEIR CONTROL PLANE", orphans),
    ...gapLines(gaps, style),
  ];
  // If nothing could be read, the first of these parts starts with an empty line.
  return all[0]?.length === 0 ? all.slice(1) : all;
}

/** First, because without an operator the rest is out of date. */
function operatorLines(problem: StatusReport["operator"], style: OutputStyle): Line[] {
  if (!problem) return [];
  const { severity, object, reason, message } = problem;
  const head = [mark(severity, style), span(` ${object}`, "bold"), span(` ${reason}`)];
  return [head, ...paragraph(message, style, "  "), []];
}

function none(gaps: readonly string[]): Line[] {
  return gaps.length > 0
    ? []
    : [[span("No CoderControlPlane found. Use -n or -A to select another namespace.")]];
}

const TITLES = [
  "",
  "NAMESPACE",
  "NAME",
  "READY",
  "VERSION",
  "PODS",
  "LICENSE",
  "POOLS",
  "PROXIES",
  "WHAT IS WRONG",
];

function overview(reports: readonly ControlPlaneReport[], style: OutputStyle): Line[] {
  const rows = reports.map((report) => {
    const { namespace, name, ready, version, pods, license, pools, proxies, problems, paused } = report;
    const [first, ...rest] = problems;
    const wrong = first
      ? `${first.object} ${first.reason}${rest.length > 0 ? ` and ${rest.length} more` : ""}`
      : "-";
    return [
      mark(levelOf(report), style),
      span(namespace),
      span(name, "bold"),
      span(paused ? "paused" : (ready?.reason ?? "-")),
      span(version ?? "-"),
      span(`${pods.ready}/${pods.wanted}`),
      span(license?.tier ?? "-"),
      span(`${pools.length}`),
      span(`${proxies.length}`),
      span(wrong),
    ];
  });
  return [
    ...table(TITLES, rows),
    [],
    [span("For details, run: kubectl coder status <name> -n <namespace>", "dim")],
  ];
}
