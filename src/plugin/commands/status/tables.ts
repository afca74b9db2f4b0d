import { type Level, mark, paragraph } from "../../terminal/lines.ts";
import type { OutputStyle } from "../../terminal/output-style.ts";
import { table } from "../../terminal/table.ts";
import { dimmed, type Line, type Span, span } from "../../terminal/text.ts";
import type { ControlPlaneReport, EntityReport, PoolReport, ProxyReport } from "./report.ts";

export const INDENT = "  ";
/** Maximum number of organizations, of groups and of problems on the screen. */
export const MAX_ROWS = 20;

export function poolTable(pools: readonly PoolReport[], style: OutputStyle): Line[] {
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

export function poolLegend({ pools, isCoderdAsked }: ControlPlaneReport, style: OutputStyle): Line[] {
  if (isCoderdAsked || pools.every(({ limits }) => limits !== undefined)) return [];
  const legend =
    "A dash means unknown: only coderd knows this of pools with a fixed number of daemons. Set CODER_URL and CODER_SESSION_TOKEN to ask it.";
  return paragraph(legend, style, INDENT).map(dimmed);
}

export function proxyTable(proxies: readonly ProxyReport[], style: OutputStyle): Line[] {
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

export function organizationTable(organizations: readonly EntityReport[], style: OutputStyle): Line[] {
  const rows = organizations.slice(0, MAX_ROWS).map((each) => entityCells(each, style));
  return [
    ...table(["", "NAME", "READY", "NAME IN CODER"], rows, { indent: INDENT }),
    ...omitted(organizations, style),
  ];
}

export function groupTable(groups: readonly EntityReport[], style: OutputStyle): Line[] {
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
export function omitted({ length }: readonly unknown[], style: OutputStyle): Line[] {
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
