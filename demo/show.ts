import type { Clock } from "kube-controller-runtime";
import type { Line } from "../src/plugin/terminal/text.ts";
import { changeBetween, type Row, TITLE_WIDTH } from "./rows.ts";
import { frame, type Part } from "./view/frame.ts";
import { RECENT, type Screen } from "./view/screen.ts";
import { PART_NAMES, type PartName, type Progress } from "./world.ts";

/** Stores the current view, and passes every change to the screen. */
export class Show implements Progress {
  readonly #screen: Screen;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #parts = new Map<PartName, Part>(
    PART_NAMES.map((name) => [name, { name, state: "waiting", detail: "" }]),
  );
  readonly #recent: string[] = [];
  #rows: readonly Row[] = [];

  constructor(screen: Screen, clock: Clock) {
    this.#screen = screen;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
  }

  get elapsedMs(): number {
    return this.#clock.monotonic() - this.#startedAt;
  }

  starting(name: PartName, detail: string): void {
    this.#become({ name, state: "starting", detail });
  }

  running(name: PartName, detail: string): void {
    this.#become({ name, state: "running", detail });
  }

  report(line: string): void {
    const atMs = this.elapsedMs;
    this.#recent.push(`${seconds(atMs).padStart(6)}  ${line}`);
    this.#recent.splice(0, this.#recent.length - RECENT);
    this.#screen.happened(line, atMs);
  }

  /** Updates the objects. */
  rows(rows: readonly Row[]): void {
    const known = new Map(this.#rows.map((row) => [row.title, row]));
    for (const row of rows) {
      const change = changeBetween(known.get(row.title), row);
      if (change) this.report(change);
    }
    this.#rows = rows;
  }

  print(lines: readonly Line[]): void {
    this.#screen.print(lines);
    this.draw();
  }

  draw(): void {
    const view = {
      parts: [...this.#parts.values()],
      rows: this.#rows,
      recent: this.#recent,
      elapsedMs: this.elapsedMs,
    };
    this.#screen.draw((width) => frame(view, width));
  }

  #become(part: Part & { readonly name: PartName }): void {
    const { state, detail } = this.#parts.get(part.name) ?? {};
    if (state === part.state && detail === part.detail) return;
    this.#parts.set(part.name, part);
    this.report(
      `${part.name.padEnd(TITLE_WIDTH)}${part.state === "starting" ? "starting " : ""}${part.detail}`,
    );
  }
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)}s`;
}
