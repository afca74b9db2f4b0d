import { type AddressInfo, createServer, type Socket } from "node:net";
import type { Dice } from "kube-controller-runtime/testing";
import { drawHostileText } from "./draw.ts";
import type { HostileServer } from "./hostile-coderd.ts";

/** A message of the protocol: its letter, its length and its content. */
export function message(letter: string, content: Buffer, announced = content.length + 4): Buffer {
  const head = Buffer.alloc(5, letter);
  head.writeUInt32BE(announced, 1);
  return Buffer.concat([head, content]);
}

/** Messages that are not as the protocol has them: a driver that trusts them throws, or reads on for ever. */
export const MALFORMED: Readonly<Record<string, Buffer>> = {
  "an unknown way to log in": message("R", Buffer.from([0, 0, 0, 99])),
  "mechanisms without an end": message("R", Buffer.from([0, 0, 0, 10, 0x53])),
  "an error without an end": message("E", Buffer.alloc(0)),
  "an error whose last field has no end": message("E", Buffer.from("MA")),
  "an error that ends before the message does": message("E", Buffer.from("MA\0\0\0")),
  "a notice without an end": message("N", Buffer.alloc(0)),
  "a row of more values than it has": message("D", Buffer.from([0x7f, 0xff])),
  "a row of less than no values": message("D", Buffer.from([0xff, 0xff])),
  "a row of fewer values than there are columns": Buffer.concat([
    message("T", Buffer.concat([Buffer.from([0, 1, 0x78, 0]), Buffer.alloc(18)])),
    message("D", Buffer.alloc(2)),
  ]),
  "a column that is cut off": message("T", Buffer.from([0, 1, 0x78, 0])),
  "a parameter without a value": message("S", Buffer.from("a\0")),
  "a command without an end": message("C", Buffer.from("SELECT 1")),
  "a key that is too short": message("K", Buffer.alloc(4)),
  "a message shorter than its length": message("Z", Buffer.alloc(0), 0),
  "unsolicited data": message("d", Buffer.alloc(8)),
};

const loggedIn = Buffer.concat([message("R", Buffer.alloc(4)), message("Z", Buffer.from("I"))]);

/** A database that a tenant runs, or what stands in its place. */
export async function startHostilePostgres(dice: Dice): Promise<HostileServer> {
  let requests = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    socket.on("data", () => {
      requests++;
      answer(socket, dice);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests: () => requests,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function answer(socket: Socket, dice: Dice): void {
  const error = (text: string) =>
    message("E", Buffer.from(`SERROR\0C${dice.pick(["42501", "28P01", "XX000"])}\0M${text}\0\0`));
  switch (dice.weighted({ login: 4, refusal: 3, rows: 2, endless: 1, noise: 1, malformed: 2, cut: 1 })) {
    case "login":
      return void socket.write(loggedIn);
    case "refusal":
      return void socket.end(error(drawHostileText(dice, dice.pick([100, 3_000_000])).replaceAll("\0", " ")));
    case "rows":
      return void socket.write(Buffer.concat(Array(5_000).fill(message("D", Buffer.alloc(2)))));
    case "endless":
      flood(socket, message("R", Buffer.alloc(60_000), 0x7fffffff));
      return;
    case "noise":
      return void socket.write(Buffer.from(drawHostileText(dice, 10_000)));
    case "malformed":
      return void socket.write(dice.pick(Object.values(MALFORMED)));
    case "cut":
      return void socket.destroy();
  }
}

function flood(socket: Socket, chunk: Buffer): void {
  if (!socket.destroyed) socket.write(chunk, (error) => error ?? flood(socket, chunk));
}
