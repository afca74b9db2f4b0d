import { healthyInspection } from "../../../lab/coderd-database/memory.ts";
import type { DatabaseInspection } from "../../../src/coder/operator-access/inspect.ts";

/** What the program in an image does with the database when it starts. */
export interface Program {
  /** The version of the schema that it needs. */
  readonly schema: number;
  readonly version: string;
  readonly migrateMs?: number;
  /** Whether it ends with an error instead of migrating, or right after it. */
  readonly crashes?: "before" | "after";
  /** Whether it runs on without migrating or serving. */
  readonly hangs?: boolean;
}

const blocker = { pid: 99, application: "psql", user: "admin", seconds: 120 };

/** The schema of a database, which one program at a time migrates in one transaction. */
export class SimulatedSchema {
  version: number;
  /** Whether a lock of another session blocks the migrations. */
  isBlocked = false;
  /** Host names of the replicas with a heartbeat: those of our pods, and foreign ones. */
  readonly hosts = new Set<string>();
  readonly strangers = new Set<string>();
  #migrating: { readonly by: object; readonly program: Program; readonly since: number } | undefined;

  constructor(version: number) {
    this.version = version;
  }

  get inspection(): DatabaseInspection {
    const replicas = [...this.hosts, ...this.strangers];
    if (!this.#migrating)
      return { ...healthyInspection, schema: { version: this.version, isDirty: false }, replicas };
    const blockers = this.isBlocked ? [blocker] : [];
    const migration = { pid: 7, application: "coder", user: "coder", seconds: 1, blockers };
    return { ...healthyInspection, schema: "locked", migration };
  }

  /** What becomes of a program that runs with this schema, looked at again and again. */
  meet(program: Program, by: object, now: number): "serves" | "migrates" | "crashes" | "commits" {
    if (program.hangs) return "migrates";
    if (this.#migrating && this.#migrating.by !== by) return "crashes";
    if (this.version > program.schema) return "crashes";
    if (this.version === program.schema) return program.crashes ? "crashes" : "serves";
    if (program.crashes === "before") return "crashes";
    this.#migrating ??= { by, program, since: now };
    if (this.isBlocked || now - this.#migrating.since < (program.migrateMs ?? 0)) return "migrates";
    this.#migrating = undefined;
    this.version = program.schema;
    return "commits";
  }

  /** Rolls back what a process that has ended had not committed. */
  leave(by: object): void {
    if (this.#migrating?.by === by) this.#migrating = undefined;
  }
}
