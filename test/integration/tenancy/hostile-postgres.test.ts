import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { systemClock } from "kube-controller-runtime";
import { unfenced } from "kube-controller-runtime/testing";
import { afterEach, expect, test } from "vitest";
import { operatorAccess } from "../../../src/coder/operator-access/access.ts";

let server: Server | undefined;
afterEach(() => {
  server?.close();
});

/** A server that answers the first message with `begin`, and then sends without end. */
async function endlessServer(begin: Buffer): Promise<{ port: number; sent: () => number }> {
  let sent = 0;
  const chunk = Buffer.alloc(64 * 1024);
  const flood = (socket: Socket) => {
    if (socket.destroyed) return;
    sent += chunk.length;
    socket.write(chunk, () => flood(socket));
  };
  server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(begin);
      flood(socket);
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, sent: () => sent };
}

test.for([
  ["a message of two gigabytes", Buffer.from([0x52, 0x7f, 0xff, 0xff, 0xff])],
  ["an error of two gigabytes", Buffer.from([0x45, 0x7f, 0xff, 0xff, 0xff])],
] as const)("a server that announces %s is cut off after a few megabytes", async ([, begin]) => {
  const { port, sent } = await endlessServer(begin);
  const access = operatorAccess({ clock: systemClock, fence: unfenced });
  const result = await access.revokeToken({
    connectionUrl: `postgres://u:p@127.0.0.1:${port}/coder?sslmode=disable`,
    controlPlane: { namespace: "n", name: "coder", uid: "1" },
    readFile: async () => undefined,
  });
  expect(result).toMatchObject({
    ok: false,
    failure: { message: expect.stringContaining("more than 4 MiB") },
  });
  expect(sent()).toBeLessThan(512 * 1024 * 1024);
});
