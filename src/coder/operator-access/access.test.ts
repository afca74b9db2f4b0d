import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { settle, unfenced, VirtualClock } from "kube-controller-runtime/testing";
import { expect, onTestFinished, test } from "vitest";
import { message } from "../../../test/fuzz/hostile-postgres.ts";
import { operatorAccess } from "./access.ts";

const READY = message("Z", Buffer.from("I"));
const LOGGED_IN = Buffer.concat([message("R", Buffer.alloc(4)), READY]);
const DONE = Buffer.concat([message("C", Buffer.from("SELECT 0\0")), READY]);

/** A server that responds to the given number of turns completely, and then one byte at a time. */
async function drippingServer(complete: number) {
  const sockets: Socket[] = [];
  let turns = 0;
  const server = createServer((socket) => {
    sockets.push(socket.on("error", () => undefined));
    socket.on("data", () => {
      turns++;
      if (turns > complete) socket.write(DONE.subarray(0, 1));
      else socket.write(turns === 1 ? LOGGED_IN : DONE);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, sockets, turns: () => turns };
}

/** Less than the driver's own timeout in real time. */
const SOON = { timeout: 4_000 };

test.each([
  ["before it lets anybody in", 0],
  ["over the first statement", 1],
  ["over a later statement", 2],
])("a database that drips %s is cut off after 30 s in all", SOON, async (_, complete) => {
  const { port, sockets, turns } = await drippingServer(complete);
  const clock = new VirtualClock();
  const access = operatorAccess({ clock, fence: unfenced });
  const revoking = access.revokeToken({
    connectionUrl: `postgres://u:p@127.0.0.1:${port}/coder?sslmode=disable`,
    controlPlane: { namespace: "n", name: "coder", uid: "1" },
    readFile: async () => undefined,
  });
  while (turns() <= complete) await settle();
  await clock.advance(29_999);
  expect(sockets.map(({ destroyed, readableEnded }) => destroyed || readableEnded)).toEqual([false]);
  await clock.advance(1);
  expect(await revoking).toEqual({
    ok: false,
    failure: {
      kind: "timeout",
      message: "The database session took longer than 30 s; check the load of the database.",
    },
  });
});
