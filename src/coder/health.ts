import { boolean, type Decoder, excerpt, list, object, optional, time, word } from "./decode.ts";

/** Sections of coderd's health report by their names in the API, most severe first. */
const HEALTH_SECTIONS = [
  "database",
  "access_url",
  "websocket",
  "derp",
  "provisioner_daemons",
  "workspace_proxy",
] as const;
export type HealthSection = (typeof HEALTH_SECTIONS)[number];

/** A problem found by coderd's health checks. */
export interface HealthFinding {
  readonly section: HealthSection;
  /** Code assigned by coderd, such as `EDB01`, or `EUNKNOWN`. */
  readonly code: string;
  readonly isError: boolean;
}

/** Health report of the whole deployment by one replica of coderd, which caches it for ten minutes. */
export interface HealthReport {
  /** Each section and code once, without those that users dismissed. */
  readonly findings: readonly HealthFinding[];
  /** Time at which the replica created the report. A cached report keeps its time. */
  readonly madeAt: number;
}

const UNKNOWN_CODE = "EUNKNOWN";
const CODE = /^E[A-Z]{1,12}\d{0,4}$/;
/** More than coderd defines for any section. */
const MAX_CODES = 10;

/** Later versions of coderd may omit a section. */
export const healthReport: Decoder<HealthReport> = object((field) => ({
  findings: HEALTH_SECTIONS.flatMap((section) => field(section, optional(findingsIn(section))) ?? []),
  madeAt: field("time", time),
}));

/** Whether a recorded finding is one that coderd can report. */
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

/** An error starts with its code, if it has one. */
function codeOf(text: string): string {
  const [code = ""] = text.split(":", 1);
  return CODE.test(code) ? code : UNKNOWN_CODE;
}
