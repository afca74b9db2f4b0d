import type { ControlPlaneStatus } from "../../../api/v1alpha1/control-plane.ts";
import { type HealthFinding, type HealthReport, isFinding } from "../../../coder/health.ts";
import type { HeldFindings } from "../memory.ts";
import type { ControlPlaneResult } from "../status.ts";

/**
 * Adds a report to the held findings. Any replica may respond with its own report, up to ten minutes old, so
 * responses alternate if replicas disagree. With several replicas, a finding is therefore held until two
 * reports per replica have not contained it; repeated reports count once. With one replica, only the newest
 * report counts.
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

/** The held findings for the status, in a stable order. A new leader continues with them. */
export function recorded(held: HeldFindings): NonNullable<ControlPlaneResult["status"]> {
  const findings = held
    .map(({ finding: { section, code, isError } }) => ({ section, code, error: isError }))
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  return { healthFindings: findings.length > 0 ? findings : undefined };
}

/**
 * The findings held by an earlier leader. A status can be forged, so only findings that coderd can report are
 * accepted.
 */
export function restored({ healthFindings = [] }: ControlPlaneStatus = {}): HeldFindings {
  return healthFindings
    .filter(isFinding)
    .map(({ section, code, error }) => ({ finding: { section, code, isError: error }, absentFrom: [] }));
}

function keyOf({ section, code }: Pick<HealthFinding, "section" | "code">): string {
  return `${section} ${code}`;
}
