import { type Fault, unfenced } from "kube-controller-runtime/testing";
import type { OperatorOptions } from "../../lab/operator.ts";
import type { CoderClient } from "../../src/coder/client.ts";
import { CoderClients, type CoderTarget } from "../../src/coder/clients.ts";
import type { OperatorAccess } from "../../src/coder/operator-access/access.ts";
import { failed } from "../../src/coder/result.ts";
import type { World } from "./world/world.ts";

export interface CrashOptions {
  /** Dies as soon as this many effects have happened, before it hears of the last; never when absent. */
  readonly diesAfter?: number | undefined;
  /** Lives on, but never hears of this effect, counted from 1. */
  readonly missesAnswer?: number | undefined;
  /** Called with every effect, before the operator learns of it. */
  readonly onEffect?: (effect: string) => Promise<void>;
}

const EFFECTS = /^(create|delete|add|regenerate|update|set|ensure|revoke)/;

/** What a client says of an answer that never came. */
const noAnswer = failed({ kind: "transient", message: "The connection was cut." });

/**
 * Stands between an operator and all that it changes, in the cluster, at coderd and in databases, and counts the changes.
 * After one of them the operator is dead, or misses the answer: the change is made, but the operator never
 * learns of it. Events do not count as effects.
 */
export class CrashingOperator {
  readonly effects: string[] = [];
  readonly #options: CrashOptions;
  #armed = false;
  #dead = false;

  constructor(options: CrashOptions = {}) {
    this.#options = options;
  }

  get isDead(): boolean {
    return this.#dead;
  }

  /** From now on effects count; before, all goes well. */
  arm(): void {
    this.#armed = true;
  }

  /** The effect at which it failed; undefined when there were fewer. */
  get failedAt(): string | undefined {
    const { diesAfter = 0, missesAnswer = 0 } = this.#options;
    return this.effects[(diesAfter || missesAnswer) - 1];
  }

  /** For `startOperator`: all ways of an operator out of its process. */
  throughWorld({ clock, coderds: { route } }: World, databases?: OperatorAccess): OperatorOptions {
    const wrap = (client: CoderClient) => this.#wrap(client);
    const coderd = new (class extends CoderClients {
      override client(target: CoderTarget): CoderClient {
        return wrap(super.client(target));
      }
    })({ fence: unfenced, clock, route });
    return { coderd, fault: this.#fault, ...(databases && { database: this.#wrap(databases) }) };
  }

  readonly #fault: Fault = async (request, pass) => {
    this.#live();
    const { method, path } = request;
    if (method === "GET" || path.includes("/events")) return pass();
    const response = await pass();
    if (await this.#isHeard(`${method} ${path.split("?")[0]}`)) return response;
    throw new Error("the answer was lost");
  };

  /** A client of an external system, each method of which is an effect. */
  #wrap<Asking extends object>(asking: Asking): Asking {
    const wrapped = Object.entries(asking).map(([name, method]) => [
      name,
      async (...args: unknown[]) => {
        this.#live();
        const result = await (method as (...args: unknown[]) => Promise<unknown>)(...args);
        return !EFFECTS.test(name) || (await this.#isHeard(name)) ? result : noAnswer;
      },
    ]);
    return Object.fromEntries(wrapped) as Asking;
  }

  /** Counts an effect; throws for the one after which the process is dead. */
  async #isHeard(effect: string): Promise<boolean> {
    if (!this.#armed) return true;
    const number = this.effects.push(effect);
    const { diesAfter, missesAnswer, onEffect } = this.#options;
    if (number === diesAfter) this.#dead = true;
    await onEffect?.(effect);
    this.#live();
    return number !== missesAnswer;
  }

  #live(): void {
    if (this.#dead) throw new Error("the process was killed");
  }
}

/** Plays with a failure at the first effect, then at the second, and so on until there is none; returns at which. */
export async function playAll(
  failure: "diesAfter" | "missesAnswer",
  play: (options: CrashOptions) => Promise<string | undefined>,
): Promise<string[]> {
  const failed: string[] = [];
  for (;;) {
    const effect = await play({ [failure]: failed.length + 1 });
    if (effect === undefined) return failed;
    failed.push(effect);
  }
}
