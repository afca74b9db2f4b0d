import { type Client, Secret } from "kube-controller-runtime";

/** Writers that change Secrets, each one of its own, as fast as the API server takes it. */
export class Storm {
  readonly #person: Client;
  readonly #namespace: string;
  readonly #writers: Promise<void>[];
  #over = false;
  #written = 0;

  constructor(person: Client, namespace: string, secrets: readonly string[]) {
    this.#person = person;
    this.#namespace = namespace;
    this.#writers = secrets.map((name) => this.#write(name));
  }

  /** Returns how many changes were made. */
  async end(): Promise<number> {
    this.#over = true;
    await Promise.all(this.#writers);
    return this.#written;
  }

  async #write(name: string): Promise<void> {
    while (!this.#over) {
      const stringData = { content: `${this.#written}` };
      await this.#person.mergePatch(Secret, { namespace: this.#namespace, name }, { stringData });
      this.#written++;
    }
  }
}
