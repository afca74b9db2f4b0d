import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { eventually } from "kube-controller-runtime/testing";

/** How a call in a terminal ended. */
export interface Shown {
  readonly code: number;
  /** Everything that the terminal was sent. */
  readonly raw: string;
  /** The same without colors: what stays on the screen. */
  readonly text: string;
}

export interface TerminalOptions {
  /** Of the programs in it; nothing of this process's own. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly columns?: number;
}

/** A call that goes on in a terminal of its own. */
export class Call {
  raw = "";
  readonly ended: Promise<Shown>;
  readonly #press: (keys: string) => void;

  constructor(command: readonly string[], { env, cwd, columns = 100 }: TerminalOptions) {
    const line = command.map((word) => `'${word}'`).join(" ");
    const call = ["-qec", `stty cols ${columns} rows 200 && exec ${line}`, "/dev/null"];
    const child = spawn("script", call, { env: { TERM: "xterm", LANG: "C.UTF-8", ...env }, cwd });
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.raw += text;
    });
    child.stdin.on("error", () => {});
    this.#press = (keys) => child.stdin.write(keys);
    this.ended = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolve({ code: code ?? -1, raw: this.raw, text: this.screen }));
    });
  }

  /** What is on the screen now: the last of several pictures that erase each other. */
  get screen(): string {
    const pictures = this.raw.replaceAll("\r", "").split("\x1b[0J");
    // A terminal echoes the keys of Ctrl-C.
    return stripVTControlCharacters(pictures.at(-1) ?? "").replace("^C", "");
  }

  /** Whatever a person types. */
  press(keys: string): void {
    this.#press(keys);
  }

  /** Once the screen is as wanted. */
  async until(wanted: (screen: string) => void, withinMs = 60_000): Promise<void> {
    await eventually(() => wanted(this.screen), { withinMs });
  }
}

/** The keys of Ctrl-C. */
export const CTRL_C = "\x03";
