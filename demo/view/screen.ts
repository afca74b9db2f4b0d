import type { WriteStream } from "node:tty";
import { type Line, render } from "../../src/plugin/terminal/text.ts";

/** Where a demo shows itself. */
export interface Screen {
  /** A thing that happened, at a time since the start. */
  happened(line: string, atMs: number): void;
  /** Text that stays, in the place of the picture until that is drawn again. */
  print(lines: readonly Line[]): void;
  /** The present state. */
  draw(picture: (width: number) => readonly Line[]): void;
}

/** How many of the last happenings a live screen keeps in view. */
export const RECENT = 6;
const PLAIN_WIDTH = 110;
const MIN_WIDTH = 40;

/** One line for each thing that happens: for logs, and wherever a redraw would only make noise. */
export class PlainScreen implements Screen {
  readonly #write: (text: string) => void;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  happened(line: string, atMs: number): void {
    this.#write(`${(atMs / 1_000).toFixed(1).padStart(6)}s  ${line}\n`);
  }

  print(lines: readonly Line[]): void {
    for (const line of lines) this.#write(`${render(line, { width: Infinity, color: false }).trimEnd()}\n`);
  }

  draw(): void {}
}

/** A picture that is redrawn in place, below whatever was printed. */
export class LiveScreen implements Screen {
  readonly #terminal: Pick<WriteStream, "columns" | "rows" | "write">;
  #height = 0;

  constructor(terminal: Pick<WriteStream, "columns" | "rows" | "write">) {
    this.#terminal = terminal;
  }

  /** The picture shows the last of them by itself. */
  happened(): void {}

  print(lines: readonly Line[]): void {
    const medium = { width: Infinity, color: true };
    this.#terminal.write(this.#erase() + lines.map((line) => `${render(line, medium)}\n`).join(""));
    this.#height = 0;
  }

  /** What does not fit is left out at the bottom: a picture that scrolls can't be redrawn. */
  draw(picture: (width: number) => readonly Line[]): void {
    const width = Math.max(MIN_WIDTH, this.#terminal.columns || PLAIN_WIDTH) - 1;
    const lines = picture(width).slice(0, Math.max(1, (this.#terminal.rows || 24) - 1));
    const text = lines.map((line) => `${render(line, { width, color: true })}\n`).join("");
    this.#terminal.write(this.#erase() + text);
    this.#height = lines.length;
  }

  #erase(): string {
    return this.#height === 0 ? "" : `\x1b[${this.#height}A\x1b[0J`;
  }
}
