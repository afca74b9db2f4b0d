import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { LocalCluster } from "kube-controller-runtime/testing";
import { startOperatorCluster } from "../../../lab/cluster.ts";
import { type Postgres, type Schema, startPostgres } from "../../../lab/postgres.ts";

/**
 * The servers that all test files of a run share, each started when it is first asked for. They belong to the process
 * of the run; its workers ask for them over loopback.
 */
export class ServersOfRun {
  readonly #resources = new AsyncDisposableStack();
  #cluster: Promise<LocalCluster> | undefined;
  #withControllers: Promise<LocalCluster> | undefined;
  #postgres: Promise<Postgres> | undefined;

  /** With the operator's CRDs and role, audit on, and no controller manager. */
  cluster(): Promise<LocalCluster> {
    this.#cluster ??= this.#start({ controllerManager: false });
    return this.#cluster;
  }

  /** The same with a controller manager. */
  clusterWithControllers(): Promise<LocalCluster> {
    this.#withControllers ??= this.#start({ controllerManager: true });
    return this.#withControllers;
  }

  postgres(): Promise<Postgres> {
    this.#postgres ??= startPostgres().then((started) => this.#resources.adopt(started, (it) => it.stop()));
    return this.#postgres;
  }

  /** Where the workers of the run ask. */
  async listen(): Promise<string> {
    const server = createServer((request, response) => {
      this.#answer(request.method ?? "", request.url ?? "").then(
        (answer) => response.end(JSON.stringify(answer)),
        (error) => response.writeHead(500).end(String(error)),
      );
    });
    this.#resources.adopt(server, close);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  stop(): Promise<void> {
    return this.#resources.disposeAsync();
  }

  async #answer(method: string, url: string): Promise<unknown> {
    const [, what = "", which = ""] = url.split("/");
    switch (`${method} ${what}`) {
      case "POST clusters":
        return (await this.clusterWithControllers()).connection;
      case "POST databases": {
        const postgres = await this.postgres();
        const { url, name } = await postgres.createDatabase(which as Schema);
        return { url, name };
      }
      case "DELETE databases":
        return (await this.postgres()).dropDatabase(which);
      default:
        throw new Error(`${method} ${url} is nothing that a run has`);
    }
  }

  async #start({ controllerManager }: { controllerManager: boolean }): Promise<LocalCluster> {
    // `make flaky` slows it down.
    const apiDelayMs = Number(process.env.API_DELAY_MS ?? 0);
    const options = { audit: true, controllerManager, apiDelayMs };
    return this.#resources.use(await startOperatorCluster(options));
  }
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
