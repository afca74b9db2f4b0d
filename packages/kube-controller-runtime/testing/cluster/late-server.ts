import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A remote API server: the same server at another address, with a delay for every byte. */
export interface LateServer extends AsyncDisposable {
  readonly url: string;
}

/**
 * Starts it on loopback. The server's certificate remains valid, because it is issued for the host without
 * the port.
 */
export async function startLateServer(url: string, delayMs: number): Promise<LateServer> {
  const port = Number(new URL(url).port);
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("error", () => {}).on("close", () => sockets.delete(from));
      passLate(from, to, delayMs);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** Timers of the same duration fire in the order in which they were set, so the order is preserved. */
function passLate(from: Socket, to: Socket, delayMs: number): void {
  const later = (act: () => void) => setTimeout(act, delayMs).unref();
  from.setNoDelay(true);
  from.on("data", (chunk) => later(() => to.writable && to.write(chunk)));
  from.on("end", () => later(() => to.end()));
  // After a graceful end, the last bytes may still be delayed.
  from.on("close", (broke) => broke && later(() => to.resetAndDestroy()));
}
