import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { startLateServer } from "./late-server.ts";

const DELAY_MS = 30;

/** A connection through a late server to a server that runs `serve`. */
async function lateWayTo(serve: (socket: Socket) => void): Promise<Socket> {
  const server = createServer({ allowHalfOpen: true }, serve).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const late = await startLateServer(`https://127.0.0.1:${port}`, DELAY_MS);
  const socket = connect({ port: Number(new URL(late.url).port), host: "127.0.0.1", allowHalfOpen: true });
  onTestFinished(async () => {
    socket.destroy();
    await late[Symbol.asyncDispose]();
    server.close();
  });
  return socket;
}

test("a response of a delayed server is complete and in order, and delayed in both directions", async () => {
  const socket = await lateWayTo((client) => client.pipe(client));
  const sent = Array.from({ length: 2_000 }, (_, index) => `line ${index} ${"x".repeat(200)}\n`);
  const startedAt = performance.now();
  for (const line of sent) socket.write(line);
  socket.end();
  expect(await text(socket)).toBe(sent.join(""));
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(2 * DELAY_MS - 2);
});

test("a connection that breaks behind a late server breaks before it too", async () => {
  const socket = await lateWayTo((client) => client.once("data", () => client.resetAndDestroy()));
  const broken = once(socket, "close");
  socket.resume().write("anything");
  await expect(broken).rejects.toThrow("ECONNRESET");
});
