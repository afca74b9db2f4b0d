const SECTIONS = [
  "derp",
  "access_url",
  "websocket",
  "database",
  "workspace_proxy",
  "provisioner_daemons",
] as const;
type SectionName = (typeof SECTIONS)[number];

interface Section {
  readonly severity: "ok" | "warning" | "error";
  readonly warnings?: readonly { readonly code: string; readonly message: string }[];
  readonly error?: string;
  readonly dismissed?: boolean;
}

/** How long a replica returns the same report. */
const CACHE_MS = 10 * 60_000;

/** The checks of one replica of coderd. */
export class ReplicaHealth {
  /**
   * Overrides for sections of the next report; the others are healthy, or depend on the number of daemons.
   */
  readonly sections: Partial<Record<SectionName, Section>> = {};
  #cached: { readonly at: number; readonly report: object } | undefined;

  /** The response of `GET /api/v2/debug/health`. */
  report(now: number, daemons: number): object {
    if (this.#cached && now - this.#cached.at < CACHE_MS) return this.#cached.report;
    const sections = SECTIONS.map((name) => [name, this.#section(name, daemons)] as const);
    const severities = sections.map(([, { severity }]) => severity);
    const severity = (["error", "warning"] as const).find((one) => severities.includes(one)) ?? "ok";
    const time = new Date(now).toISOString();
    const report = { time, healthy: severity !== "error", severity, ...Object.fromEntries(sections) };
    this.#cached = { at: now, report };
    return report;
  }

  #section(name: SectionName, daemons: number): Section {
    const usual = name === "provisioner_daemons" && daemons === 0 ? noDaemons : { severity: "ok" as const };
    return { warnings: [], dismissed: false, ...(this.sections[name] ?? usual) };
  }
}

const noDaemons: Section = {
  severity: "error",
  warnings: [{ code: "EPD01", message: "No active provisioner daemons found!" }],
};
