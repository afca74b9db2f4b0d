import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A way to a TCP server that keeps what clients send. */
export interface CountingRelay extends AsyncDisposable {
  readonly port: number;
  /** The pieces of data that clients have sent so far, as far as they can be read. */
  sent(): readonly string[];
}

export async function startRelay(target: { host: string; port: number }): Promise<CountingRelay> {
  const sockets = new Set<Socket>();
  const sent: string[] = [];
  const server = createServer((client) => {
    const upstream = connect(target);
    client.on("data", (data) => sent.push(data.toString("latin1").replaceAll(/[^ -~]+/g, " ")));
    client.pipe(upstream).pipe(client);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.once("close", () => sockets.delete(socket));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    sent: () => [...sent],
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
