import { setImmediate as nextTurn } from "node:timers/promises";
import { Registry } from "prom-client";
import type { ObjectGauge, Subject } from "./gauges.ts";

/** An object to measure, and the labels that all its samples have. */
export type LabeledSubject = Subject & { readonly labels: Readonly<Record<string, string>> };

export interface ObjectGauges {
  readonly prefix: string;
  readonly labelNames: readonly string[];
  readonly gauges: readonly ObjectGauge[];
  readonly subjects: () => Iterable<LabeledSubject>;
  /** Lets everything else run that is due. */
  readonly turn?: (() => Promise<void>) | undefined;
}

/** How many objects one turn reports: a few milliseconds of work. */
const OBJECTS_PER_TURN = 100;

/**
 * A registry whose text also has the samples of every object, as it is at that moment. A fleet's text takes a while, so it is
 * made in turns, between which the event loop serves others, and each scrape makes its own.
 */
export class ObjectRegistry extends Registry {
  readonly #objects: ObjectGauges;
  readonly #turn: () => Promise<void>;

  constructor(objects: ObjectGauges) {
    super();
    this.#objects = objects;
    this.#turn = objects.turn ?? nextTurn;
  }

  /** What there is, the gauges of objects included, for whoever describes metrics. */
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
