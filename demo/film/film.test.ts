import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { span } from "../../src/plugin/terminal/text.ts";
import { CAST } from "../rows.ts";
import { frameTimes } from "./frame-times.ts";
import { filmSvg } from "./svg.ts";

const frame = (atMs: number, ...texts: string[]) => ({ atMs, lines: texts.map((text) => [span(text)]) });
const film = { lengthMs: 1_000, columns: 20, description: 'A "terminal" & more' };

/** The keyframes of the line with this text. */
function timesOf(svg: string, text: string): string | undefined {
  const [, name] = new RegExp(`animation-name: (l\\d+);[^>]*>(?:(?!</g>).)*>${text}<`).exec(svg) ?? [];
  return new RegExp(`@keyframes ${name} \\{ (.*) \\}`).exec(svg)?.[1];
}

describe("a film", () => {
  test("shows a line for exactly as long as the screen does", () => {
    const svg = filmSvg({ ...film, frames: [frame(0, "one"), frame(250, "two"), frame(500, "one")] });
    expect(timesOf(svg, "two")).toBe(
      "0% { visibility: hidden } 25% { visibility: visible } 50% { visibility: hidden }",
    );
    expect(timesOf(svg, "one")).toBe(
      "0% { visibility: visible } 25% { visibility: hidden } 50% { visibility: visible } 100% { visibility: hidden }",
    );
  });

  test("contains a line that spans several frames once", () => {
    const svg = filmSvg({ ...film, frames: [frame(0, "stays", "a"), frame(500, "stays", "b")] });
    expect(svg.match(/>stays</g)).toHaveLength(1);
    expect(timesOf(svg, "stays")).toBe("0% { visibility: visible } 100% { visibility: hidden }");
  });

  test("shows only its last frame with reduced motion", () => {
    const svg = filmSvg({ ...film, frames: [frame(0, "early"), frame(500, "late")] });
    expect(svg).toMatch(/class="line last"[^>]*><text [^>]*>late</);
    expect(svg).toMatch(/class="line"[^>]*><text [^>]*>early</);
  });

  test("quotes what has a meaning in XML", () => {
    const svg = filmSvg({ ...film, frames: [frame(0, 'tags <"&">')] });
    expect(svg).toContain("tags &lt;&quot;&amp;&quot;>");
    expect(svg).toContain("A &quot;terminal&quot; &amp; more");
  });
});

describe("the pace of an act", () => {
  const frames = [frame(0, "a"), frame(10, "b"), frame(10_000, "c")];
  const times = frameTimes(frames, { startMs: 2_000, showMs: 5_000 }).map(({ atMs }) => atMs);

  test("fits it into its time", () => {
    expect([times[0], times.at(-1)]).toEqual([2_000, 7_000]);
  });

  test("leaves time to see what was over at once, and more to what took longer", () => {
    const [first = 0, second = 0, third = 0] = times;
    expect(second - first).toBeGreaterThan(250);
    expect(third - second).toBeGreaterThan(10 * (second - first));
  });
});

test("the film on the landing page shows all kinds becoming ready", () => {
  const svg = readFileSync(new URL("../../docs/images/demo.svg", import.meta.url), "utf8");
  for (const { kind, name } of CAST) {
    expect(svg).toMatch(new RegExp(`class="green">✓</text><text [^>]*>${kind.kind}/${name}<`));
  }
});
