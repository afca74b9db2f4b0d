import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { type Address, Coderds } from "./coderds.ts";
import type { CoderdDeployment, DeploymentOptions } from "./deployment.ts";
import { BEGUN_ANSWER, wireForm } from "./reply.ts";
import { type Outcome, respond } from "./respond.ts";

export interface CoderdServerOptions {
  /** The key and the certificate for TLS, in PEM. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

/**
 * A loopback server that simulates any number of coderds. Each has an address; one without an address
 * receives all other requests. Clients may use it as an HTTP proxy.
 */
export interface CoderdServer {
  /** The base URL of the deployment without an address. */
  readonly url: string;
  /** Adds a deployment; one without an address receives all unmatched requests. */
  add(options?: DeploymentOptions, address?: Address): CoderdDeployment;
  close(): Promise<void>;
}

export async function startCoderdServer(options: CoderdServerOptions = {}): Promise<CoderdServer> {
  const coderds = new Coderds();
  const handle = (request: IncomingMessage, response: ServerResponse) =>
    void answer(coderds, request, response);
  const server = options.tls ? createTlsServer(options.tls, handle) : createServer(handle);
  // Like the real server, it does not announce a timeout of idle connections.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${options.tls ? "https" : "http"}://127.0.0.1:${port}`,
    add: (deploymentOptions = {}, address) => coderds.add(deploymentOptions, address),
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await coderds.close();
    },
  };
}

async function answer(coderds: Coderds, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "GET", headers } = request;
  const { deployment, path } = coderds.locate(headers.host ?? "", pathOf(request.url ?? "/"));
  const body = await text(request);
  await write(await respond(deployment, { method, path, headers, body, sleep }), response);
}

/** Of a whole URL, which a client sends that takes this server for its proxy, the path and the query. */
function pathOf(target: string): string {
  const url = target.startsWith("/") ? null : URL.parse(target);
  return url ? `${url.pathname}${url.search}` : target;
}

async function write(outcome: Outcome, response: ServerResponse): Promise<void> {
  if (outcome.kind === "reply") {
    const { status, headers, body } = wireForm(outcome.reply);
    response.writeHead(status, headers).end(body);
    return;
  }
  if (outcome.midBody) {
    const { status, headers, body } = BEGUN_ANSWER;
    response.writeHead(status, headers);
    await new Promise<void>((resolve) => response.write(body, () => resolve()));
  }
  if (outcome.kind === "cut") response.socket?.destroy();
}
