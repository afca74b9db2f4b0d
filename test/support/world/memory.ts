import { type Client, Deployment, type Kind } from "kube-controller-runtime";
import { type Deadline, Dice, FakeApi, rolledOutStatus, VirtualClock } from "kube-controller-runtime/testing";
import { InProcessCoderds } from "../../../lab/coderd/in-process.ts";
import type { OperatorEnvironment } from "../../../lab/operator.ts";
import * as kinds from "../../../src/api/v1alpha1/kinds.ts";
import { crdSchemas } from "./schemas.ts";
import type { World } from "./world.ts";

const SEED = 1;
/** Work that is not over by then will never be. */
const ENDLESS_MS = 10 * 60_000;

/**
 * A world in memory: the fake API server with our kinds, coderds without sockets, and time that passes only while
 * a test waits, from one due timer to the next. Two runs of a test see the same, in the same order.
 */
export class MemoryWorld implements World {
  readonly timeIsReal = false;
  readonly clock = new VirtualClock();
  readonly api = new FakeApi(this.clock);
  readonly person: Client = this.api.client("a-person");
  readonly coderds = new InProcessCoderds(this.clock);
  readonly #dice = new Dice(SEED);
  #namespaces = 0;

  constructor() {
    for (const kind of Object.values(kinds)) this.api.install(kind as Kind, crdSchemas()[kind.kind]);
  }

  async createNamespace(prefix: string): Promise<string> {
    return `${prefix}-${++this.#namespaces}`;
  }

  async operatorEnvironment(): Promise<OperatorEnvironment> {
    const { send } = this.api;
    return {
      // Closing one operator's way leaves the server to the others.
      transport: { send: send.bind(this.api), close: async () => {} },
      requestClock: this.clock,
      random: () => this.#dice.next(),
      eventually: (assertion, limit) => this.eventually(assertion, limit),
      finish: (work) => this.finish(work),
    };
  }

  async eventually<T>(assertion: () => T | Promise<T>, { withinMs }: Deadline): Promise<T> {
    const until = this.clock.now() + withinMs;
    await this.clock.step(this.clock.now());
    for (;;) {
      try {
        return await assertion();
      } catch (error) {
        if (this.clock.now() >= until) throw error;
      }
      await this.clock.step(until);
    }
  }

  /** Resolves with what comes of the work, for which time passes. */
  async finish<T>(work: Promise<T>): Promise<T> {
    const until = this.clock.now() + ENDLESS_MS;
    let over = false;
    const note = () => {
      over = true;
    };
    work.then(note, note);
    for (await this.clock.step(this.clock.now()); !over; await this.clock.step(until))
      if (this.clock.now() >= until) throw new Error("the work is not over after ten minutes");
    return work;
  }

  async markDeploymentReady(namespace: string, name: string): Promise<void> {
    const ref = { namespace, name };
    const { metadata, spec } = await this.person.get(Deployment, ref);
    const status = rolledOutStatus(metadata.generation ?? 0, spec?.replicas ?? 1);
    await this.person.patchStatus(Deployment, ref, { status });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.api.close();
    await this.coderds.close();
  }
}
