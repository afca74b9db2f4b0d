import type { Answer } from "./command.ts";
import type { Output } from "./program.ts";
import type { OutputStyle } from "./terminal/output-style.ts";
import { escaped, render } from "./terminal/text.ts";

/** The printed answer, with a line end after the last line. */
export async function printed(
  answer: Answer,
  output: Output | undefined,
  style: OutputStyle,
): Promise<string> {
  if (output === "json") return `${escaped(JSON.stringify(answer.data, undefined, 2))}\n`;
  if (output === "yaml") return (await import("./terminal/yaml.ts")).yamlText(answer.data);
  const medium = answer.whole ? { ...style, width: Number.POSITIVE_INFINITY } : style;
  const lines = answer.lines(style).map((line) => `${render(line, medium).trimEnd()}\n`);
  return lines.join("");
}

/** Writes answers to the terminal: a new answer erases the one that it replaces, if possible. */
export class Display {
  readonly #write: (text: string) => void;
  readonly #rows: number | undefined;
  #height = 0;

  /** `rows` is the height of the terminal; `undefined` if nothing can be erased. */
  constructor(write: (text: string) => void, rows: number | undefined) {
    this.#write = write;
    this.#rows = rows;
  }

  show(text: string): void {
    const erase = this.#height > 0 ? `\x1b[${this.#height}A\x1b[0J` : "";
    const lines = text.split("\n").slice(0, -1);
    // Lines that scrolled away can't be erased, so a replaceable answer is never higher than the terminal.
    const fitting = this.#rows === undefined ? lines : lines.slice(0, Math.max(1, this.#rows - 1));
    this.#write(erase + fitting.map((line) => `${line}\n`).join(""));
    this.#height = this.#rows === undefined ? 0 : fitting.length;
  }
}
