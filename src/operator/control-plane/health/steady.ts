import type { HealthFinding, HealthReport } from "../../../coder/health.ts";

/** A finding, and the reports since that did not have it, by the times at which they were made. */
interface HeldFinding {
  readonly finding: HealthFinding;
  readonly absentFrom: readonly number[];
}

/** What several reports say together. */
export type HeldFindings = readonly HeldFinding[];

/**
 * Adds a report to what is held from earlier ones. Any replica may answer, each with a report of its own that is up to
 * ten minutes old, so answers alternate while they see things differently. With several replicas a finding is therefore held until
 * two reports for each have come without it; a report that is repeated counts once. With one replica the newest counts.
 */
export function addReport(held: HeldFindings, report: HealthReport, replicas: number): HeldFindings {
  const present = new Set(report.findings.map(keyOf));
  const waning = held
    .filter(({ finding }) => !present.has(keyOf(finding)))
    .map(({ finding, absentFrom }) => ({
      finding,
      absentFrom: [...new Set([...absentFrom, report.madeAt])],
    }))
    .filter(({ absentFrom }) => replicas > 1 && absentFrom.length < 2 * replicas);
  return [...report.findings.map((finding) => ({ finding, absentFrom: [] })), ...waning];
}

function keyOf({ section, code }: HealthFinding): string {
  return `${section} ${code}`;
}
