import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** An API server as if it were far away: the same server at another address, where every byte takes its time. */
export interface LateServer extends AsyncDisposable {
  readonly url: string;
}

/** Starts it on loopback. The certificate stays the server's own, which is for the host and not for the port. */
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

/** Timers of the same length fire in the order in which they were set, so nothing overtakes. */
function passLate(from: Socket, to: Socket, delayMs: number): void {
  const later = (act: () => void) => setTimeout(act, delayMs).unref();
  from.setNoDelay(true);
  from.on("data", (chunk) => later(() => to.writable && to.write(chunk)));
  from.on("end", () => later(() => to.end()));
  // After an orderly end the last bytes may still be on their way.
  from.on("close", (broke) => broke && later(() => to.resetAndDestroy()));
}
