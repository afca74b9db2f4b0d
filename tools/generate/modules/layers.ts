import type { Graph } from "../../folders/graph.ts";

/** A folder, or a bend of an arrow that crosses the layer (without a label). */
export interface Place {
  readonly id: string;
  readonly label?: string;
  /** The places in the layer below to which arrows lead from here. */
  readonly below: string[];
}

/**
 * Places each folder one layer above the highest that it imports, adds bends to arrows that skip layers, and
 * orders the layers so that few arrows cross. The result is deterministic.
 */
export function layersOf(graph: Graph): Place[][] {
  const heights = new Map<string, number>();
  const heightOf = (room: string): number => {
    const known = heights.get(room);
    if (known !== undefined) return known;
    const height = Math.max(-1, ...[...(graph.get(room) ?? [])].map(heightOf)) + 1;
    heights.set(room, height);
    return height;
  };
  const top = Math.max(...[...graph.keys()].map(heightOf));
  const layers: Place[][] = Array.from({ length: top + 1 }, () => []);
  for (const [room, imported] of [...graph].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const place: Place = { id: room, label: room, below: [] };
    layers[top - heightOf(room)]?.push(place);
    for (const target of [...imported].sort()) connect(place, target);
  }
  return ordered(layers);

  /** Arrows to the same folder share their bends. */
  function connect(from: Place, target: string): void {
    let place = from;
    for (let height = heightOf(from.id) - 1; height > heightOf(target); height--) {
      const layer = layers[top - height] ?? [];
      const id = `${target} from ${height}`;
      const present = layer.find((other) => other.id === id);
      const bend: Place = present ?? { id, below: [] };
      place.below.push(id);
      if (present) return;
      layer.push(bend);
      place = bend;
    }
    place.below.push(target);
  }
}

/**
 * Repeatedly sorts each layer by the average position of its neighbors above and below, and keeps the best
 * order.
 */
function ordered(layers: Place[][]): Place[][] {
  let best = layers;
  let current = layers;
  for (let turn = 0; turn < 24 && crossings(best) > 0; turn++) {
    const downwards = turn % 2 === 0;
    const next: Place[][] = current.map((layer) => [...layer]);
    const order = downwards ? [...next.keys()] : [...next.keys()].reverse();
    for (const index of order) {
      const neighbors = next[downwards ? index - 1 : index + 1];
      if (neighbors) next[index]?.sort((a, b) => middle(a, neighbors) - middle(b, neighbors));
    }
    current = next;
    if (crossings(current) < crossings(best)) best = current;
  }
  return best;
}

function middle(place: Place, neighbors: readonly Place[]): number {
  const positions = neighbors.flatMap(({ id, below }, index) =>
    below.includes(place.id) || place.below.includes(id) ? [index / neighbors.length] : [],
  );
  return positions.length === 0 ? 0.5 : positions.reduce((sum, next) => sum + next, 0) / positions.length;
}

/** The number of crossing pairs of arrows. */
export function crossings(layers: readonly (readonly Place[])[]): number {
  return layers.reduce((sum, layer, index) => {
    const below = layers[index + 1]?.map(({ id }) => id) ?? [];
    const arrows = layer.flatMap((place, from) =>
      place.below.map((id) => [from, below.indexOf(id)] as const),
    );
    const crossed = arrows.flatMap(([from, to]) => arrows.filter(([a, b]) => a > from && b < to));
    return sum + crossed.length;
  }, 0);
}
