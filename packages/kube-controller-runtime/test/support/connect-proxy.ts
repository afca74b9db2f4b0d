import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Certificate } from "../../testing/certificates.ts";

/** A proxy on loopback that opens tunnels by CONNECT, and records the targets. */
export class ConnectProxy implements AsyncDisposable {
  /** The requested servers, as `host:port`. */
  readonly asked: string[] = [];
  /** The received `Proxy-Authorization` headers. */
  readonly authorizations: (string | undefined)[] = [];
  /** The response instead of opening a tunnel. */
  refusal: { readonly status: string } | "silence" | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  /** Use `startConnectProxy`. */
  constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket: Socket) => this.#sockets.add(socket));
    server.on("connect", (request: IncomingMessage, socket: Socket) => this.#open(request, socket));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #open({ url = "", headers }: IncomingMessage, socket: Socket): void {
    this.asked.push(url);
    this.authorizations.push(headers["proxy-authorization"]);
    socket.on("error", () => {});
    if (this.refusal === "silence") return;
    if (this.refusal) {
      socket.end(`HTTP/1.1 ${this.refusal.status}\r\n\r\n`);
      return;
    }
    const { hostname, port } = new URL(`http://${url}`);
    const upstream = connect(Number(port || 80), hostname.replace(/^\[|\]$/g, ""), () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.pipe(socket).pipe(upstream);
    });
    this.#sockets.add(upstream);
    upstream.on("error", () => socket.destroy());
  }
}

/** Starts a proxy; with a certificate, clients connect by TLS. */
export async function startConnectProxy(certificate?: Certificate): Promise<ConnectProxy> {
  const server = certificate ? createSecureServer({ ...certificate }) : createServer();
  const proxy = new ConnectProxy(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return proxy;
}
