import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, request as httpsRequest, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createCertificateAuthority } from "kube-controller-runtime/testing";

/** The fault that the proxy applies to current and future traffic. */
export type ProxyFault =
  /** Nothing passes any more; connections stay open, and stay dead when the fault is over. */
  | { readonly do: "stall" }
  /** Half of the next piece of a body passes, then the connection breaks. */
  | { readonly do: "cut" }
  /** Bodies pass byte by byte. */
  | { readonly do: "drip"; readonly everyMs: number }
  /** The proxy answers itself. */
  | { readonly do: "answer"; readonly status: number; readonly headers?: Record<string, string> }
  /** New connections break at once. */
  | { readonly do: "refuse" };

export interface ProxiedRequest {
  /** Empty for a connection that was refused before it could ask. */
  readonly path: string;
  readonly method: string;
  /** What the client was answered; absent while it waits. */
  status?: number;
}

/** A TLS proxy on loopback in front of an API server, which breaks connections as real networks do. */
export class FaultProxy implements AsyncDisposable {
  fault: ProxyFault | undefined;
  /** Picks requests that never get an answer: they are not passed on, or they are and their answer is kept back. */
  holds: ((request: ProxiedRequest) => "request" | "answer" | undefined) | undefined;
  readonly requests: ProxiedRequest[] = [];
  /** The number of requests that are blocked forever. */
  held = 0;
  readonly #server: Server;
  readonly #upstream: { readonly server: string; readonly ca: Buffer };
  readonly #sockets = new Set<Socket>();
  readonly #ca: string;

  /** Use `startFaultProxy`. */
  constructor(upstream: { server: string; caFile: string }) {
    const authority = createCertificateAuthority("Fault proxy");
    this.#ca = authority.cert;
    this.#upstream = { server: upstream.server, ca: readFileSync(upstream.caFile) };
    this.#server = createServer(authority.issue(["127.0.0.1"]), (request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
    this.#server.on("connection", (socket: Socket) => this.#admit(socket));
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  /** A kubeconfig through this proxy; JSON is YAML. */
  kubeconfig(user: object): string {
    const server = `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    const data = Buffer.from(this.#ca).toString("base64");
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "proxy", cluster: { server, "certificate-authority-data": data } }],
      users: [{ name: "user", user }],
      contexts: [{ name: "proxy", context: { cluster: "proxy", user: "user" } }],
      "current-context": "proxy",
    });
  }

  /** Breaks all connections, so that every client has to come again. */
  disconnect(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.disconnect();
    this.#server.close();
    await once(this.#server, "close");
  }

  #admit(socket: Socket): void {
    if (this.fault?.do === "refuse") {
      this.requests.push({ path: "", method: "", status: 0 });
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const record: ProxiedRequest = { path: request.url ?? "", method: request.method ?? "" };
    this.requests.push(record);
    if (this.fault?.do === "stall") return;
    if (this.fault?.do === "answer") {
      const { status, headers = {} } = this.fault;
      record.status = status;
      response.writeHead(status, headers).end("<html>the proxy says no</html>");
      return;
    }
    const held = this.holds?.(record);
    const answer = held === "request" ? undefined : await this.#ask(request, response);
    if (held) this.held++;
    if (held || !answer) return;
    record.status = answer.statusCode ?? 0;
    response.writeHead(record.status, answer.headers).flushHeaders();
    for await (const chunk of answer as AsyncIterable<Buffer>) await this.#pass(chunk, response);
    response.end();
  }

  async #ask(request: IncomingMessage, response: ServerResponse): Promise<IncomingMessage> {
    const { server, ca } = this.#upstream;
    const upstream = httpsRequest(`${server}${request.url}`, {
      method: request.method,
      headers: request.headers,
      ca,
      agent: false,
    });
    response.once("close", () => upstream.destroy());
    request.pipe(upstream);
    const [answer] = (await once(upstream, "response")) as [IncomingMessage];
    return answer;
  }

  async #pass(chunk: Buffer, response: ServerResponse): Promise<void> {
    const { fault } = this;
    if (fault?.do === "stall") await once(response, "close");
    else if (fault?.do === "cut") {
      response.write(chunk.subarray(0, chunk.length / 2), () => response.destroy());
      await once(response, "close");
    } else if (fault?.do === "drip") await drip(chunk, response, fault.everyMs);
    else response.write(chunk);
  }
}

async function drip(chunk: Buffer, response: ServerResponse, everyMs: number): Promise<void> {
  for (const byte of chunk) {
    if (response.destroyed) return;
    response.write(Uint8Array.of(byte));
    await sleep(everyMs);
  }
}

export async function startFaultProxy(upstream: { server: string; caFile: string }): Promise<FaultProxy> {
  const proxy = new FaultProxy(upstream);
  await proxy.listen();
  return proxy;
}
