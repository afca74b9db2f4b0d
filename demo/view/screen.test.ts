import { describe, expect, test } from "vitest";
import { type Line, render, span, wrap } from "../../src/plugin/terminal/text.ts";
import { frame } from "./frame.ts";
import { LiveScreen, PlainScreen } from "./screen.ts";

class Terminal {
  readonly columns = 60;
  readonly rows: number;
  readonly written: string[] = [];

  constructor(rows: number) {
    this.rows = rows;
  }

  write(text: string): boolean {
    this.written.push(text);
    return true;
  }
}

const lines = (count: number): Line[] => Array.from({ length: count }, (_, index) => [span(`line ${index}`)]);

describe("a live screen", () => {
  test("erases exactly what it drew before it draws again", () => {
    const terminal = new Terminal(24);
    const screen = new LiveScreen(terminal);
    screen.draw(() => lines(3));
    screen.draw(() => lines(1));
    screen.draw(() => lines(1));
    expect(terminal.written).toEqual([
      "line 0\nline 1\nline 2\n",
      "\x1b[3A\x1b[0Jline 0\n",
      "\x1b[1A\x1b[0Jline 0\n",
    ]);
  });

  test("never draws more than fits, because scrolled lines can't be erased", () => {
    const terminal = new Terminal(5);
    new LiveScreen(terminal).draw(() => lines(100));
    expect(terminal.written.join("").split("\n")).toHaveLength(5);
  });

  test("prints in the place of the picture, and leaves that alone from then on", () => {
    const terminal = new Terminal(24);
    const screen = new LiveScreen(terminal);
    screen.draw(() => lines(1));
    screen.print([[span("stays")]]);
    screen.draw(() => lines(1));
    expect(terminal.written).toEqual(["line 0\n", "\x1b[1A\x1b[0Jstays\n", "line 0\n"]);
  });
});

test("a plain screen writes what happens and what is printed, without colors or redraws", () => {
  const written: string[] = [];
  const screen = new PlainScreen((text) => written.push(text));
  screen.happened("it started", 1_234);
  screen.draw();
  screen.print([[span("done ", "green")]]);
  expect(written).toEqual(["   1.2s  it started\n", "done\n"]);
});

describe("text", () => {
  test("is cut to the width, without counting colors", () => {
    expect(render([span("green ", "green"), span("and long")], { width: 10, color: true })).toBe(
      "\x1b[32mgreen \x1b[39mand…",
    );
  });

  test("wraps between spans", () => {
    const wrapped = wrap([span("one"), span("two"), span("three")], { width: 12, indent: "  " });
    expect(wrapped.map((line) => render(line, { width: 80, color: false }).trimEnd())).toEqual([
      "  one  two",
      "  three",
    ]);
  });
});

test("the picture has the parts, then every object with its conditions and what it waits for", () => {
  const conditions = [
    { type: "DeploymentReady", status: "True", reason: "", message: "", lastTransitionTime: "" },
    { type: "Ready", status: "False", reason: "", message: "", lastTransitionTime: "" },
  ];
  const picture = frame(
    {
      parts: [{ name: "Postgres", state: "running", detail: "127.0.0.1:5432" }],
      rows: [
        { title: "CoderControlPlane/coder", facts: ["Pending"], conditions, blocked: "Ready is False: wait" },
      ],
      recent: ["0.1s  Postgres runs"],
      elapsedMs: 0,
    },
    80,
  );
  const text = picture.map((line) => render(line, { width: 80, color: false }).trimEnd());
  expect(text).toEqual([
    "",
    "  ✓ Postgres    127.0.0.1:5432",
    "",
    "  ⠋ CoderControlPlane/coder     Pending",
    "    ✓ DeploymentReady  ✗ Ready",
    "    Ready is False: wait",
    "",
    "  0.1s  Postgres runs",
  ]);
});
