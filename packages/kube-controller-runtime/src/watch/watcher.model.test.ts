import fc from "fast-check";
import { expect, test } from "vitest";
import { VirtualClock } from "../../testing/clock.ts";
import { Dice } from "../../testing/dice.ts";
import { FakeApi } from "../../testing/fake-api/fake-api.ts";
import {
  answers,
  cutAfter,
  drips,
  endsAtOnce,
  FaultyTransport,
  neverAnswers,
  offline,
  refusesStreamingLists,
  silent,
} from "../../testing/faulty-transport.ts";
import type { Client } from "../client/client.ts";
import { HttpClient } from "../client/http-client.ts";
import { ConfigMap } from "../kinds.ts";
import type { Stored } from "../object.ts";
import { type WatcherEvent, watcher } from "./watcher.ts";

type Step =
  | { readonly do: "write" | "delete"; readonly name: string }
  | { readonly do: "cut" | "endWatches" | "compact" | "heal" }
  | { readonly do: "break"; readonly fault: number }
  | { readonly do: "wait"; readonly ms: number };

const clockless = [
  offline,
  neverAnswers,
  silent,
  endsAtOnce,
  cutAfter(1),
  cutAfter(300),
  refusesStreamingLists,
];
const refusals = [answers(429, { "retry-after": "3" }), answers(500), answers(410)];
const FAULTS = [...clockless, ...refusals];

const name = fc.constantFrom("a", "b", "c");
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom("write", "delete"), name }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("cut", "endWatches", "compact", "heal") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("break"), fault: fc.nat({ max: FAULTS.length }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("wait"), ms: fc.constantFrom(0, 100, 5_000, 120_000) }),
  },
);

/** The simplest reader of a watcher; it also verifies the guarantees of the events. */
class Reader {
  objects = new Map<string, string>();
  #staged: Map<string, string> | undefined;

  read(event: WatcherEvent<ConfigMap>): void {
    if (event.type === "init") this.#staged = new Map();
    else if (event.type === "initDone") this.#swap();
    else if (event.type === "initApply") put(this.#staged, event.object);
    else if (event.type === "initDelete") this.#staged?.delete(event.object.metadata.name);
    else if (event.type === "apply") this.#change(event.object);
    else if (event.type === "delete") this.#remove(event.object);
  }

  #swap(): void {
    if (!this.#staged) throw new Error("a list ended that had not begun");
    this.objects = this.#staged;
    this.#staged = undefined;
  }

  #change(object: Stored<ConfigMap>): void {
    const known = this.objects.get(object.metadata.name);
    if (this.#staged) throw new Error("a live change inside a list");
    if (Number(known ?? 0) >= Number(object.metadata.resourceVersion))
      throw new Error("reported twice or out of order");
    put(this.objects, object);
  }

  #remove({ metadata }: Stored<ConfigMap>): void {
    if (!this.objects.delete(metadata.name)) throw new Error("the deletion of what was never there");
  }
}

function put(objects: Map<string, string> | undefined, { metadata }: Stored<ConfigMap>): void {
  objects?.set(metadata.name, metadata.resourceVersion);
}

class World {
  readonly clock = new VirtualClock();
  readonly api = new FakeApi(this.clock);
  readonly transport = new FaultyTransport(this.api);
  readonly reader = new Reader();
  readonly #other: Client = this.api.client();
  readonly #abort = new AbortController();
  readonly #running: Promise<void>;
  #writes = 0;

  constructor({ lagMs, seed }: { lagMs: number; seed: number }) {
    this.api.streamLagMs = lagMs;
    this.#running = this.#follow(new Dice(seed));
    this.#running.catch(() => undefined);
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case "write":
        return this.#write(step.name);
      case "delete":
        await this.#other.delete(ConfigMap, { namespace: "n", name: step.name });
        return;
      case "cut":
        return this.transport.cutWatches();
      case "endWatches":
        return this.api.endWatches();
      case "compact":
        return this.api.compact();
      case "heal":
        this.transport.fault = undefined;
        return;
      case "break":
        this.transport.fault =
          FAULTS[step.fault] ?? drips(this.clock, 200, () => this.transport.fault !== undefined);
        return;
      case "wait":
        return this.clock.advance(step.ms);
    }
  }

  /** The state of the server, after the watcher had time to receive it. */
  async settle(): Promise<Map<string, string>> {
    this.transport.fault = undefined;
    await this.clock.advance(150_000);
    const present = new Map<string, string>();
    for (const object of (await this.#other.list(ConfigMap)).items) put(present, object);
    return present;
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#running;
  }

  async #write(name: string): Promise<void> {
    const data = { write: String(this.#writes++) };
    await this.#other.apply(ConfigMap, { metadata: { namespace: "n", name }, data });
  }

  async #follow(dice: Dice): Promise<void> {
    const { transport, clock } = this;
    const client = new HttpClient({ transport, clock, fieldManager: "watcher", userAgent: "test" });
    const { signal } = this.#abort;
    const events = watcher({ client, kind: ConfigMap, clock, random: () => dice.next(), signal });
    for await (const event of events) this.reader.read(event);
  }
}

test("after any failures of server and connection, a reader has the state of the server, in order and without duplicates", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 40 }),
      fc.record({ lagMs: fc.constantFrom(0, 50, 3_000), seed: fc.integer() }),
      async (steps, drawn) => {
        const world = new World(drawn);
        for (const each of steps) await world.take(each);
        const present = await world.settle();
        await world.stop();
        expect(world.reader.objects).toEqual(present);
      },
    ),
    { numRuns: 60 },
  );
}, 60_000);
