import { once } from "node:events";
import { type AddressInfo, createServer, Socket } from "node:net";
import { LeaderFence, NotLeaderError } from "kube-controller-runtime";
import { eventually } from "kube-controller-runtime/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import type { ConnectionSettings } from "./connection-url.ts";
import { connectPostgres } from "./session.ts";

/** A database that accepts connections and collects what it receives. */
async function silentDatabase() {
  const received: Buffer[] = [];
  const connections: Socket[] = [];
  const server = createServer((socket) => {
    connections.push(socket);
    socket.on("data", (data) => received.push(data)).on("error", () => undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of connections) socket.destroy();
    server.close();
  });
  const settings: ConnectionSettings = {
    host: "127.0.0.1",
    port: (server.address() as AddressInfo).port,
    user: "coder",
    password: "secret",
    database: "coder",
    sslMode: "disable",
    connectTimeoutMs: 10_000,
  } as ConnectionSettings;
  return { settings, received, connections };
}

function leading() {
  const fence = new LeaderFence();
  const state = { leads: true };
  fence.open(() => state.leads);
  return { fence, state };
}

test("a connection that is established after leadership is lost sends nothing", async () => {
  const { settings, received } = await silentDatabase();
  const { fence, state } = leading();
  const connecting = connectPostgres(settings, false, fence);
  state.leads = false;
  await expect(connecting).rejects.toThrow();
  expect(received).toEqual([]);
  expect(fence.signal.aborted).toBe(true);
});

test("a connection is cut when leadership is lost elsewhere", async () => {
  const { settings, received, connections } = await silentDatabase();
  const { fence } = leading();
  const connecting = connectPostgres(settings, false, fence);
  await eventually(() => expect(received).toHaveLength(1), { withinMs: 5_000 });
  const cut = connections[0] && once(connections[0], "close");
  fence.close(new NotLeaderError("lost"));
  await expect(connecting).rejects.toThrow();
  await cut;
  expect(received).toHaveLength(1);
});

test("no connection is opened once leadership is lost", async () => {
  const { settings, connections } = await silentDatabase();
  const { fence, state } = leading();
  state.leads = false;
  await expect(connectPostgres(settings, false, fence)).rejects.toThrow(NotLeaderError);
  expect(connections).toEqual([]);
});

test("all messages of a query are sent in one write", async () => {
  const { settings, received, connections } = await silentDatabase();
  const { fence } = leading();
  const connecting = connectPostgres(settings, false, fence);
  await eventually(() => expect(received).toHaveLength(1), { withinMs: 5_000 });
  // AuthenticationOk and ReadyForQuery.
  connections[0]?.write(Buffer.from([82, 0, 0, 0, 8, 0, 0, 0, 0, 90, 0, 0, 0, 5, 73]));
  const session = await connecting;
  const writes = vi.spyOn(Socket.prototype, "write");
  onTestFinished(() => writes.mockRestore());
  const answer = session.query("SELECT $1", ["1"]).catch(() => undefined);
  await eventually(() => expect(received).toHaveLength(2), { withinMs: 5_000 });
  expect(writes).toHaveBeenCalledTimes(1);
  fence.close(new NotLeaderError("over"));
  await answer;
});
