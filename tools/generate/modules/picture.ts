import { fileURLToPath } from "node:url";
import { findCycle, type Graph, moduleGraph, projectImports, withoutImplied } from "../../folders/graph.ts";
import { layersOf, type Place } from "./layers.ts";

/** The path of the diagram, for `ARCHITECTURE.md` and the site. */
export const picturePath = "docs/images/modules.svg";

const repository = fileURLToPath(new URL("../../..", import.meta.url));
const LETTER = 7.2;
const BOX = { height: 34, padding: 14, gap: 28 };
const LAYER = 84;
const MARGIN = 20;

interface Spot {
  readonly place: Place;
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

/** Draws the module graph. Throws if its folders form an import cycle. */
export function modulePicture(): string {
  const graph = moduleGraph(projectImports(repository));
  const cycle = findCycle(graph);
  if (cycle) throw new Error(`folders form an import cycle: ${cycle.join(" → ")}`);
  return draw(withoutImplied(graph));
}

export function draw(graph: Graph): string {
  const layers = layersOf(graph);
  const width = Math.ceil(Math.max(...layers.map(widthOf))) + 2 * MARGIN;
  const height = layers.length * LAYER - (LAYER - BOX.height) + 2 * MARGIN;
  const spots = layers.flatMap((layer, index) => placed(layer, width, MARGIN + index * LAYER));
  const byId = new Map(spots.map((spot) => [spot.place.id, spot]));
  const arrows = spots.flatMap((from) =>
    from.place.below.flatMap((id) => {
      const to = byId.get(id);
      return to ? [arrow(from, to)] : [];
    }),
  );
  return `${header(width, height)}\n${[...arrows, ...spots.flatMap(box)].join("\n")}\n</svg>\n`;
}

function widthOf(layer: readonly Place[]): number {
  return layer.reduce((sum, place) => sum + widthOfPlace(place) + BOX.gap, -BOX.gap);
}

function widthOfPlace({ label }: Place): number {
  return label === undefined ? 0 : label.length * LETTER + 2 * BOX.padding;
}

/** Arranges a layer from left to right, centered. */
function placed(layer: readonly Place[], width: number, y: number): Spot[] {
  let x = (width - widthOf(layer)) / 2;
  return layer.map((place) => {
    const spot = { place, x: x + widthOfPlace(place) / 2, y, width: widthOfPlace(place) };
    x += spot.width + BOX.gap;
    return spot;
  });
}

function arrow(from: Spot, to: Spot): string {
  const isBend = (spot: Spot) => spot.place.label === undefined;
  const start = from.y + (isBend(from) ? BOX.height / 2 : BOX.height);
  const end = to.y + (isBend(to) ? BOX.height / 2 : -2);
  const half = (start + end) / 2;
  const path = `M${from.x} ${start}C${from.x} ${half} ${to.x} ${half} ${to.x} ${end}`.replace(
    /\d+\.\d+/g,
    rounded,
  );
  const head = isBend(to) ? "" : ' marker-end="url(#arrow)"';
  return `  <path d="${path}" fill="none" stroke="var(--quiet)"${head}/>`;
}

function box({ place, x, y, width }: Spot): string[] {
  if (place.label === undefined) return [];
  const left = rounded(String(x - width / 2));
  return [
    `  <rect x="${left}" y="${y}" width="${rounded(String(width))}" height="${BOX.height}" rx="6" fill="var(--paper)" stroke="var(--line)"/>`,
    `  <text x="${rounded(String(x))}" y="${y + BOX.height / 2 + 4.5}" text-anchor="middle" fill="var(--ink)">${place.label}</text>`,
  ];
}

function rounded(number: string): string {
  return String(Math.round(Number(number) * 10) / 10);
}

function header(width: number, height: number): string {
  const title = "Which folders import which; imports that a longer way implies are left out";
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${title}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="12">
  <title>${title}</title>
  <style>
    :root { --ink: #1f2328; --quiet: #57606a; --line: #8c959f; --ground: #f6f8fa; --paper: #ffffff }
    @media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --quiet: #9ea7b3; --line: #6e7681; --ground: #161b22; --paper: #21262d } }
  </style>
  <defs>
    <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse">
      <path d="M0 0 8 4 0 8z" fill="var(--quiet)"/>
    </marker>
  </defs>
  <rect width="${width}" height="${height}" rx="10" fill="var(--ground)"/>`;
}
