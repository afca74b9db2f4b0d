import {
  ApiError,
  type Client,
  find,
  isForbidden,
  isNotFound,
  type Kind,
  type KubeObject,
  keyOf,
  messageOf,
  type ObjectRef,
  type Stored,
} from "kube-controller-runtime";
import { listAll, type Selection } from "./cluster.ts";

/**
 * Collects what could not be read, one line each, so that a forbidden part does not fail the rest. A cluster
 * that does not respond, or does not accept the credentials, is not a gap: that error is thrown.
 */
export class Gaps {
  /** One slot for each read, so that the lines are in the order of the requests and not of the responses. */
  readonly #places: (string | undefined)[] = [];

  /** The lines in the order of the requests, without duplicates. */
  get lines(): readonly string[] {
    return [...new Set(this.#places.filter((line) => line !== undefined))];
  }

  /** The result of a read, or `undefined` if it was refused. `what` completes "You may not …". */
  async read<T>(what: string, reading: Promise<T>): Promise<T | undefined> {
    const place = this.#places.push(undefined) - 1;
    try {
      return await reading;
    } catch (error) {
      if (!(error instanceof ApiError) || error.code === 0 || error.code === 401) throw error;
      this.#places[place] = lineFor(what, error);
      return undefined;
    }
  }

  /** All objects of a kind in a namespace, or in all namespaces; `undefined` if the list was refused. */
  list<T extends KubeObject>(client: Pick<Client, "list">, kind: Kind<T>, selection: Selection) {
    const { namespace } = selection;
    const where = namespace === undefined ? "all namespaces" : `namespace "${namespace}"`;
    return this.read(`list ${kind.plural} in ${where}`, listAll(client, kind, selection));
  }

  /** The objects that exist and could be read, by `namespace/name`. Each is read once. */
  async named<T extends KubeObject>(client: Pick<Client, "get">, kind: Kind<T>, refs: readonly ObjectRef[]) {
    const looked = await this.getAll(client, kind, refs);
    return new Map([...looked].filter((entry): entry is [string, Stored<T>] => entry[1] !== undefined));
  }

  /**
   * What could be read, by `namespace/name`: the object, or `undefined` if it does not exist. Each is read
   * once.
   */
  async getAll<T extends KubeObject>(
    client: Pick<Client, "get">,
    kind: Kind<T>,
    refs: readonly ObjectRef[],
  ): Promise<ReadonlyMap<string, Stored<T> | undefined>> {
    const once = new Map(refs.map((ref) => [keyOf(ref), ref]));
    const answers = await Promise.all(
      [...once].map(async ([key, ref]) => {
        const what = `get ${kind.plural} in namespace "${ref.namespace}"`;
        const answer = find(client, kind, ref).then((object) => ({ object }));
        return [key, await this.read(what, answer)] as const;
      }),
    );
    return new Map(answers.flatMap(([key, answer]) => (answer ? [[key, answer.object] as const] : [])));
  }

  add(line: string): void {
    this.#places.push(line);
  }
}

function lineFor(what: string, error: ApiError): string {
  if (isForbidden(error)) return `You may not ${what}.`;
  if (isNotFound(error)) return `Could not ${what}: the cluster has none.`;
  return `Could not ${what}: ${messageOf(error)}.`;
}
