import type { WriteStream } from "node:tty";
import { type Line, render } from "../../src/plugin/terminal/text.ts";

/** The output of a demo. */
export interface Screen {
  /** An event, at a time since the start. */
  happened(line: string, atMs: number): void;
  /** Text that is kept, printed above the screen area that is redrawn. */
  print(lines: readonly Line[]): void;
  /** The current state. */
  draw(picture: (width: number) => readonly Line[]): void;
}

/** The number of recent events on a live screen. */
export const RECENT = 6;
const PLAIN_WIDTH = 110;
const MIN_WIDTH = 40;

/** One line for each event: for logs, and for outputs that can't be redrawn. */
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

/** A screen area that is redrawn in place, below printed text. */
export class LiveScreen implements Screen {
  readonly #terminal: Pick<WriteStream, "columns" | "rows" | "write">;
  #height = 0;

  constructor(terminal: Pick<WriteStream, "columns" | "rows" | "write">) {
    this.#terminal = terminal;
  }

  /** The screen area shows recent events itself. */
  happened(): void {}

  print(lines: readonly Line[]): void {
    const medium = { width: Infinity, color: true };
    this.#terminal.write(this.#erase() + lines.map((line) => `${render(line, medium)}\n`).join(""));
    this.#height = 0;
  }

  /** Cut at the bottom to the height of the terminal: lines that scrolled away can't be redrawn. */
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
