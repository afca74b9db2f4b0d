import { type AddressInfo, createServer, type Socket } from "node:net";
import type { Dice } from "../support/dice.ts";
import { drawHostileText } from "./draw.ts";
import type { HostileServer } from "./hostile-coderd.ts";

/** A message of the protocol: its letter, its length and its content. */
function message(letter: string, content: Buffer, announced = content.length + 4): Buffer {
  const head = Buffer.alloc(5, letter);
  head.writeUInt32BE(announced, 1);
  return Buffer.concat([head, content]);
}

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
  switch (dice.weighted({ login: 4, refusal: 3, rows: 2, endless: 1, noise: 1, cut: 1 })) {
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
    case "cut":
      return void socket.destroy();
  }
}

function flood(socket: Socket, chunk: Buffer): void {
  if (!socket.destroyed) socket.write(chunk, (error) => error ?? flood(socket, chunk));
}
