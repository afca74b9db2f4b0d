/**
 * A binary heap: `first` is always the smallest item by `compare`. It can also delete an item from its
 * middle, which is needed to move a key to an earlier time. Every change takes O(log n).
 */
export class Heap<T extends object> {
  readonly #compare: (a: T, b: T) => number;
  readonly #items: T[] = [];
  readonly #places = new Map<T, number>();

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#items.length;
  }

  get first(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    this.#rise(item, this.#items.length);
  }

  /** Removes and returns the smallest item. */
  shift(): T | undefined {
    const first = this.first;
    if (first) this.delete(first);
    return first;
  }

  /** Removes `item` if present. */
  delete(item: T): void {
    const place = this.#places.get(item);
    if (place === undefined) return;
    this.#places.delete(item);
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    this.#rise(last, place);
    this.#sink(last);
  }

  #put(item: T, place: number): void {
    this.#items[place] = item;
    this.#places.set(item, place);
  }

  #rise(item: T, from: number): void {
    let place = from;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = this.#items[above];
      if (!parent || this.#compare(parent, item) <= 0) break;
      this.#put(parent, place);
      place = above;
    }
    this.#put(item, place);
  }

  #sink(item: T): void {
    let place = this.#places.get(item) ?? 0;
    for (let below = this.#smallerChild(place); below; below = this.#smallerChild(place)) {
      if (this.#compare(item, below.item) <= 0) break;
      this.#put(below.item, place);
      place = below.place;
    }
    this.#put(item, place);
  }

  #smallerChild(place: number): { item: T; place: number } | undefined {
    const leftPlace = 2 * place + 1;
    const left = this.#items[leftPlace];
    const right = this.#items[leftPlace + 1];
    if (left && right && this.#compare(right, left) < 0) return { item: right, place: leftPlace + 1 };
    return left && { item: left, place: leftPlace };
  }
}
