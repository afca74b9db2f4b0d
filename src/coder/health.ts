import { boolean, type Decoder, excerpt, list, object, optional, time, word } from "./decode.ts";

/** The parts of coderd's health report, by the names that it gives them, the gravest first. */
const HEALTH_SECTIONS = [
  "database",
  "access_url",
  "websocket",
  "derp",
  "provisioner_daemons",
  "workspace_proxy",
] as const;
export type HealthSection = (typeof HEALTH_SECTIONS)[number];

/** Something that coderd's own checks object to. */
export interface HealthFinding {
  readonly section: HealthSection;
  /** coderd's code, such as `EDB01`; `EUNKNOWN` where it gives none. */
  readonly code: string;
  readonly isError: boolean;
}

/** The report that one replica of coderd made of the whole deployment, and keeps for ten minutes. */
export interface HealthReport {
  /** Each section and code once. What people dismissed in coderd is not among them. */
  readonly findings: readonly HealthFinding[];
  /** When the replica made it: an answer that repeats an earlier report has the same time. */
  readonly madeAt: number;
}

const UNKNOWN_CODE = "EUNKNOWN";
const CODE = /^E[A-Z]{1,12}\d{0,4}$/;
/** More than coderd has for any section. */
const MAX_CODES = 10;

/** A later coderd may lack a section. */
export const healthReport: Decoder<HealthReport> = object((field) => ({
  findings: HEALTH_SECTIONS.flatMap((section) => field(section, optional(findingsIn(section))) ?? []),
  madeAt: field("time", time),
}));

/** Whether coderd can have made a finding that was kept elsewhere. */
export function isFinding<F extends { readonly section: string; readonly code: string }>(
  finding: F,
): finding is F & { readonly section: HealthSection } {
  return HEALTH_SECTIONS.some((section) => section === finding.section) && CODE.test(finding.code);
}

function findingsIn(section: HealthSection): Decoder<HealthFinding[]> {
  return object((field) => {
    const severity = field("severity", word);
    const isDismissed = field("dismissed", optional(boolean)) ?? false;
    const error = field("error", optional(excerpt));
    const warnings = field("warnings", optional(list(warningCode))) ?? [];
    if (severity === "ok" || isDismissed) return [];
    const codes = [...(error === undefined ? [] : [codeOf(error)]), ...warnings];
    const distinct = new Set(codes.length > 0 ? codes : [UNKNOWN_CODE]);
    return [...distinct]
      .slice(0, MAX_CODES)
      .map((code) => ({ section, code, isError: severity === "error" }));
  });
}

const warningCode = object((warning) => codeOf(warning("code", optional(excerpt)) ?? ""));

/** An error begins with its code, if it has one. */
function codeOf(text: string): string {
  const [code = ""] = text.split(":", 1);
  return CODE.test(code) ? code : UNKNOWN_CODE;
}
