import { expect, test } from "vitest";
import { parse } from "yaml";
import { answer } from "./command.ts";
import { Display, printed } from "./output.ts";
import { outputStyleOf, plainOutput } from "./terminal/output-style.ts";
import { table } from "./terminal/table.ts";
import { render, span } from "./terminal/text.ts";

const terminal = { isTTY: true, columns: 80 };
const utf8 = { LANG: "en_US.UTF-8", TERM: "xterm" };

test.each([
  ["a terminal with a UTF-8 locale", terminal, utf8, { color: true, unicode: true, width: 80 }],
  ["a terminal in the C locale", terminal, { LANG: "C" }, { color: true, unicode: false }],
  ["a terminal with NO_COLOR", terminal, { ...utf8, NO_COLOR: "1" }, { color: false, unicode: true }],
  ["a dumb terminal", terminal, { ...utf8, TERM: "dumb" }, { color: false, unicode: false }],
  ["a pipe", {}, utf8, { color: false, unicode: false, width: Number.POSITIVE_INFINITY }],
])("%s is written to as it can show", (_, outlet, env, style) => {
  expect(outputStyleOf(outlet, env, 0)).toMatchObject(style);
});

test("an answer is printed as text, JSON or YAML from the same data", async () => {
  const said = answer({ pools: [{ name: "linux" }] }, ({ pools }) => pools.map(({ name }) => [span(name)]));
  const style = plainOutput(0);
  expect(await printed(said, undefined, style)).toBe("linux\n");
  expect(JSON.parse(await printed(said, "json", style))).toEqual(said.data);
  expect(await printed(said, "yaml", style)).toBe("pools:\n  - name: linux\n");
});

test("text of others can't move the cursor, change colors or turn the direction of writing", () => {
  const text = render([span("a\x1b[2Jb\r\nc\u009bd\u202ee")], { width: 80, color: true });
  expect(text).toBe("a [2Jb c d e");
});

test.each(["json", "yaml"] as const)(
  "text of others can't do so in %s either, and is all there",
  async (output) => {
    const data = { message: "a\x1b[2Jb\r\n\tc\u009bd\u202ee", other: "plain" };
    const text = await printed(
      answer(data, () => []),
      output,
      plainOutput(0),
    );
    expect(text).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
    expect(parse(text)).toEqual(data);
  },
);

test("a table is as wide as its cells and aligns numbers to the right", () => {
  const rows = [
    [span("linux"), span("3")],
    [span("gpu"), span("12")],
  ];
  const lines = table(["POOL", "BUSY"], rows, { right: ["BUSY"] });
  expect(lines.map((line) => render(line, plainOutput(0)))).toEqual([
    "POOL   BUSY",
    "linux     3",
    "gpu      12",
  ]);
});

test("an answer that replaces another erases it, and never fills more than the terminal", () => {
  const written: string[] = [];
  const display = new Display((text) => written.push(text), 3);
  display.show("one\n");
  display.show("1\n2\n3\n4\n");
  expect(written).toEqual(["one\n", "\x1b[1A\x1b[0J1\n2\n"]);
});

test("where nothing can be erased, answers follow each other", () => {
  const written: string[] = [];
  const display = new Display((text) => written.push(text), undefined);
  display.show("one\n");
  display.show("two\n");
  expect(written).toEqual(["one\n", "two\n"]);
});
