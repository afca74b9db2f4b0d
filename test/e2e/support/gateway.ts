import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { LocalServices } from "../../../lab/pod-runner/local-services.ts";

/** A question that was put to a coderd, and how it was answered. */
export interface Exchange {
  readonly host: string;
  readonly method: string;
  readonly path: string;
  /** Absent while there is no answer. */
  status?: number;
}

/**
 * The operator's way to the coderds of a cluster that has no network: the one address that `--coderd-access` names.
 * The `Host` header says which Service is meant. Remembers what was asked.
 */
export class CoderdGateway implements AsyncDisposable {
  readonly exchanges: Exchange[] = [];
  readonly #services: LocalServices;
  readonly #server: Server;
  readonly #toLose = new Set<string>();

  private constructor(services: LocalServices) {
    this.#services = services;
    this.#server = createServer((asked, answer) => {
      void this.#forward(asked, answer).catch(() => answer.destroy());
    });
  }

  static async open(services: LocalServices): Promise<CoderdGateway> {
    const gateway = new CoderdGateway(services);
    await new Promise<void>((resolve) => gateway.#server.listen(0, "127.0.0.1", resolve));
    return gateway;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The next request of this kind takes effect, and its answer is lost. */
  loseNextAnswer(method: string, path: string): void {
    this.#toLose.add(`${method} ${path}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #forward(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { method = "GET", url: path = "/", headers } = asked;
    const { host = "" } = headers;
    const { hostname, port } = new URL(await this.#services.translate(`http://${host}`));
    const exchange: Exchange = { host, method, path };
    this.exchanges.push(exchange);
    const onward = request({ host: hostname, port, method, path, headers, agent: false });
    onward.once("error", () => answer.destroy());
    answer.once("close", () => onward.destroy());
    onward.once("response", (answered) => {
      const { statusCode = 0 } = answered;
      exchange.status = statusCode;
      if (this.#toLose.delete(`${method} ${path}`)) return void answer.destroy();
      answer.writeHead(statusCode, answered.headers);
      answered.pipe(answer);
    });
    asked.pipe(onward);
  }
}
