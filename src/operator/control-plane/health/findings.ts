import type { ControlPlaneStatus } from "../../../api/v1alpha1/control-plane.ts";
import { type HealthFinding, type HealthReport, isFinding } from "../../../coder/health.ts";
import type { HeldFindings } from "../memory.ts";
import type { ControlPlaneResult } from "../status.ts";

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

/** What is held, for the status, in an order that does not depend on who answered last: a new leader goes on from there. */
export function recorded(held: HeldFindings): NonNullable<ControlPlaneResult["status"]> {
  const findings = held
    .map(({ finding: { section, code, isError } }) => ({ section, code, error: isError }))
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  return { healthFindings: findings.length > 0 ? findings : undefined };
}

/** What an earlier leader held. A status can be forged, so nothing is taken from it that coderd never says. */
export function recalled({ healthFindings = [] }: ControlPlaneStatus = {}): HeldFindings {
  return healthFindings
    .filter(isFinding)
    .map(({ section, code, error }) => ({ finding: { section, code, isError: error }, absentFrom: [] }));
}

function keyOf({ section, code }: Pick<HealthFinding, "section" | "code">): string {
  return `${section} ${code}`;
}
