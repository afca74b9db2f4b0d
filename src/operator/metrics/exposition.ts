import { setImmediate as nextTurn } from "node:timers/promises";
import { Registry } from "prom-client";
import type { ObjectGauge, Subject } from "./gauges.ts";

/** An object with the labels of all its samples. */
export type LabeledSubject = Subject & { readonly labels: Readonly<Record<string, string>> };

export interface ObjectGauges {
  readonly prefix: string;
  readonly labelNames: readonly string[];
  readonly gauges: readonly ObjectGauge[];
  readonly subjects: () => Iterable<LabeledSubject>;
  /** Yields to other work. */
  readonly turn?: (() => Promise<void>) | undefined;
}

/** Number of objects per turn, which takes a few milliseconds. */
const OBJECTS_PER_TURN = 100;

/**
 * A registry whose output also contains samples of every object, read at scrape time. For large fleets, the
 * output is created in several turns, so that it does not block the event loop. Each scrape creates its own.
 */
export class ObjectRegistry extends Registry {
  readonly #objects: ObjectGauges;
  readonly #turn: () => Promise<void>;

  constructor(objects: ObjectGauges) {
    super();
    this.#objects = objects;
    this.#turn = objects.turn ?? nextTurn;
  }

  /** All metrics, including gauges of objects, for documentation. */
  override getMetricsAsArray(): ReturnType<Registry["getMetricsAsArray"]> {
    const { prefix, labelNames, gauges } = this.#objects;
    const described = gauges.map(({ name, help, labelNames: own = [] }) => ({
      name: `${prefix}${name}`,
      help,
      type: "gauge",
      labelNames: [...labelNames, ...own],
    }));
    return [...super.getMetricsAsArray(), ...described] as ReturnType<Registry["getMetricsAsArray"]>;
  }

  override async metrics(): Promise<string> {
    const texts: string[] = [];
    for (const { name } of super.getMetricsAsArray()) {
      texts.push(await this.getSingleMetricAsString(name));
      await this.#turn();
    }
    const subjects = [...this.#objects.subjects()];
    for (const gauge of this.#objects.gauges) texts.push(await this.#textOf(gauge, subjects));
    return `${texts.join("\n\n")}\n`;
  }

  async #textOf(gauge: ObjectGauge, subjects: readonly LabeledSubject[]): Promise<string> {
    const name = `${this.#objects.prefix}${gauge.name}`;
    const lines = [`# HELP ${name} ${escaped(gauge.help)}`, `# TYPE ${name} gauge`];
    for (const [index, subject] of subjects.entries()) {
      if (index % OBJECTS_PER_TURN === 0) await this.#turn();
      for (const { labels, value } of gauge.read(subject))
        lines.push(`${name}{${labelText({ ...subject.labels, ...labels })}} ${value}`);
    }
    return lines.join("\n");
  }
}

function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`)
    .join(",");
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
