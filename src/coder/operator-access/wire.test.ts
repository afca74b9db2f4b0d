import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";
import { createCertificateAuthority, unfenced } from "kube-controller-runtime/testing";
import { expect, onTestFinished, test } from "vitest";
import { MALFORMED, message } from "../../../test/fuzz/hostile-postgres.ts";
import type { ConnectionSettings } from "./connection-url.ts";
import { DatabaseProblem } from "./failure.ts";
import { connectPostgres } from "./session.ts";

const loggedIn = Buffer.concat([message("R", Buffer.alloc(4)), message("Z", Buffer.from("I"))]);
const PROTOCOL = "does not speak the PostgreSQL protocol";

/** A server that responds to each turn of the client with the next of `answers`. */
async function answering(answers: readonly Buffer[], wrap = async (socket: Socket) => socket) {
  const sockets: Socket[] = [];
  const server = createServer(async (plain) => {
    sockets.push(plain.on("error", () => undefined));
    const left = [...answers];
    const socket = await wrap(plain);
    socket.on("error", () => undefined).on("data", () => socket.write(left.shift() ?? Buffer.alloc(0)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const login = { user: "coder", password: "secret", database: "coder" };
  return {
    settings: { host: "127.0.0.1", port, ...login, connectTimeoutMs: 10_000 } as ConnectionSettings,
    // A reset is an end like others.
    allLeft: () =>
      Promise.all(
        sockets.map((socket) => socket.closed || new Promise((left) => socket.once("close", left))),
      ),
  };
}

async function problemOf(failing: Promise<unknown>): Promise<string> {
  const error = await failing.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DatabaseProblem);
  return (error as DatabaseProblem).message;
}

const expected = (name: string) => (name === "an unknown way to log in" ? "does not support" : PROTOCOL);

test.for(Object.entries(MALFORMED))(
  "a server that greets with %s is disconnected without harm to others",
  async ([, bytes]) => {
    const { settings, allLeft } = await answering([bytes]);
    await expect(connectPostgres(settings, false, unfenced)).rejects.toThrow();
    await allLeft();
  },
);

test.for(Object.entries(MALFORMED))(
  "a server that answers a statement with %s is disconnected without harm to others",
  async ([name, bytes]) => {
    const { settings, allLeft } = await answering([loggedIn, bytes]);
    const session = await connectPostgres(settings, false, unfenced);
    expect(await problemOf(session.query("BEGIN"))).toContain(expected(name));
    await allLeft();
  },
);

test("a server that sends malformed messages under TLS is cut off too", async () => {
  const { cert, key } = createCertificateAuthority().issue(["localhost"]);
  const { settings, allLeft } = await answering([message("E", Buffer.alloc(0))], async (plain) => {
    await once(plain, "data");
    plain.write("S");
    return new TLSSocket(plain, { isServer: true, secureContext: createSecureContext({ cert, key }) });
  });
  const connecting = connectPostgres(settings, { rejectUnauthorized: false }, unfenced);
  expect(await problemOf(connecting)).toContain(PROTOCOL);
  await allLeft();
});

test("a server that announces more than it may send is cut off before it sends any of that", async () => {
  const { settings, allLeft } = await answering([Buffer.from([0x52, 0x7f, 0xff, 0xff, 0xff])]);
  expect(await problemOf(connectPostgres(settings, false, unfenced))).toContain("more than 4 MiB");
  await allLeft();
});

test("a server that sends small messages endlessly is disconnected", async () => {
  const notices = Buffer.concat(Array(64).fill(message("N", Buffer.from(`M${"n".repeat(1_000)}\0\0`))));
  const { settings, allLeft } = await answering([], async (socket) => {
    const flood = () => void (socket.destroyed || socket.write(notices, flood));
    socket.once("data", flood);
    return socket;
  });
  expect(await problemOf(connectPostgres(settings, false, unfenced))).toContain("more than 4 MiB");
  await allLeft();
});

test("a server that repeats a step of the login is disconnected before it uses resources", async () => {
  const password = message("R", Buffer.from([0, 0, 0, 3]));
  const { settings } = await answering([password, password]);
  expect(await problemOf(connectPostgres(settings, false, unfenced))).toContain(PROTOCOL);
});

test("messages are parsed for any chunk boundaries", async () => {
  const error = message("E", Buffer.from("SERROR\0C42501\0Mno\0\0"));
  const { settings } = await answering([loggedIn], async (socket) => {
    const write = socket.write.bind(socket);
    socket.write = (bytes: Uint8Array) => [...bytes].every((byte) => write(Buffer.from([byte])));
    return socket.setNoDelay();
  });
  const session = await connectPostgres(settings, false, unfenced);
  await session.close();
  const refusing = await answering([Buffer.concat([message("S", Buffer.from("a\0b\0")), error])]);
  await expect(connectPostgres(refusing.settings, false, unfenced)).rejects.toMatchObject({ code: "42501" });
});

test.for([16, 17, 600, 1009, 1114, 1184, 3802])(
  "a value that the server declares as type %i remains text",
  async (oid) => {
    const column = Buffer.alloc(18);
    column.writeUInt32BE(oid, 6);
    const text = "1".repeat(20_000);
    const length = Buffer.alloc(4);
    length.writeInt32BE(text.length);
    const rows = Buffer.concat([
      message("T", Buffer.concat([Buffer.from([0, 1, 0x78, 0]), column])),
      message("D", Buffer.concat([Buffer.from([0, 1]), length, Buffer.from(text)])),
      message("C", Buffer.from("SELECT 1\0")),
      message("Z", Buffer.from("I")),
    ]);
    const { settings } = await answering([loggedIn, rows]);
    const session = await connectPostgres(settings, false, unfenced);
    expect(await session.query("SELECT x")).toEqual([{ x: text }]);
    await session.close();
  },
);
