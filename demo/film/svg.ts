import type { Line, Span } from "../../src/plugin/terminal/text.ts";

/** The content of the screen from a moment on. */
export interface Frame {
  readonly atMs: number;
  readonly lines: readonly Line[];
}

/** A film of a terminal. */
export interface Film {
  /** In order of time, the first at 0. */
  readonly frames: readonly Frame[];
  /** The duration of one loop. */
  readonly lengthMs: number;
  readonly columns: number;
  /** For screen readers. */
  readonly description: string;
}

const CHARACTER = 8;
const LINE = 20;
const MARGIN = 18;

/** Colors for light and dark pages; the reader's color scheme decides. */
const STYLE = `
    :root { --ground: #f6f8fa; --edge: #d0d7de; --ink: #1f2328; --dim: #57606a; --green: #116329; --red: #a40e26; --yellow: #7d4e00; --cyan: #0a5c8a }
    @media (prefers-color-scheme: dark) { :root { --ground: #161b22; --edge: #30363d; --ink: #e6edf3; --dim: #9ea7b3; --green: #56d364; --red: #ff7b72; --yellow: #e3b341; --cyan: #79c0ff } }
    text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: var(--ink); white-space: pre }
    .bold { font-weight: 700 } .dim { fill: var(--dim) } .green { fill: var(--green) } .red { fill: var(--red) } .yellow { fill: var(--yellow) } .cyan { fill: var(--cyan) }
    .line { visibility: hidden; animation-timing-function: step-end; animation-iteration-count: infinite }
    @media (prefers-reduced-motion: reduce) { .line { animation: none } .last { visibility: visible } }`;

/**
 * Draws a film as one animated SVG without scripts. A line that is unchanged over several frames is included
 * once. With reduced motion, only the last frame is shown.
 */
export function filmSvg({ frames, lengthMs, columns, description }: Film): string {
  const shown = [...shownLines(frames, lengthMs)];
  const rows = Math.max(...frames.map(({ lines }) => lines.length));
  const [width, height] = [columns * CHARACTER + 2 * MARGIN, rows * LINE + 2 * MARGIN];
  const keyframes = shown.map(({ times }, index) => `    @keyframes l${index} { ${steps(times, lengthMs)} }`);
  const lines = shown.map((line, index) => {
    const last = line.times.at(-1)?.until === lengthMs ? " last" : "";
    const animation = `animation-name: l${index}; animation-duration: ${lengthMs}ms`;
    return `  <g class="line${last}" style="${animation}">${spans(line.spans, MARGIN + (line.row + 0.8) * LINE)}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(description)}">
  <title>${escaped(description)}</title>
  <style>${STYLE}
${keyframes.join("\n")}
  </style>
  <rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="var(--ground)" stroke="var(--edge)"/>
${lines.join("\n")}
</svg>
`;
}

/** A line at its position, and all times at which it is visible. */
interface ShownLine {
  readonly row: number;
  readonly spans: Line;
  readonly times: { readonly from: number; readonly until: number }[];
}

function shownLines(frames: readonly Frame[], lengthMs: number): Iterable<ShownLine> {
  const found = new Map<string, ShownLine>();
  for (const [index, { atMs: from, lines }] of frames.entries()) {
    const until = frames[index + 1]?.atMs ?? lengthMs;
    for (const [row, line] of lines.entries()) {
      if (line.every(({ text }) => text.trim() === "")) continue;
      const key = JSON.stringify([row, line]);
      const known = found.get(key) ?? { row, spans: line, times: [] };
      found.set(key, known);
      const before = known.times.at(-1);
      if (before?.until === from) known.times.splice(-1, 1, { from: before.from, until });
      else known.times.push({ from, until });
    }
  }
  return found.values();
}

/** Keyframes that show a line at these times only. */
function steps(times: ShownLine["times"], lengthMs: number): string {
  const percent = (ms: number) => `${Number(((ms / lengthMs) * 100).toFixed(2))}%`;
  const changes = times.flatMap(({ from, until }) => [
    `${percent(from)} { visibility: visible }`,
    `${percent(until)} { visibility: hidden }`,
  ]);
  return times[0]?.from === 0 ? changes.join(" ") : `0% { visibility: hidden } ${changes.join(" ")}`;
}

/** Every span has its own position and length, so that columns are aligned in any font. */
function spans(line: Line, y: number): string {
  let column = 0;
  return line
    .map((span) => {
      const drawn = spanText(span, { column, y });
      column += span.text.length;
      return drawn;
    })
    .join("");
}

function spanText({ text, style }: Span, { column, y }: { column: number; y: number }): string {
  if (text.trim() === "") return "";
  const start = text.length - text.trimStart().length;
  const shown = text.trim();
  const x = MARGIN + (column + start) * CHARACTER;
  const look = style ? ` class="${style}"` : "";
  return `<text x="${x}" y="${y}" textLength="${shown.length * CHARACTER}"${look}>${escaped(shown)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
