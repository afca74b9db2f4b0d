import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createSecureServer as createHttp2Server } from "node:http2";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Server, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createCertificateAuthority } from "../../testing/certificates.ts";
import { VirtualClock } from "../../testing/clock.ts";
import { systemClock } from "../clock.ts";
import { ConfigMap } from "../kinds.ts";
import type { Credentials } from "./credentials.ts";
import { MAX_BODY_BYTES } from "./exchange.ts";
import { HttpClient } from "./http-client.ts";
import type { TlsOptions } from "./identity.ts";
import { readText } from "./response.ts";
import { httpTransport, type Transport } from "./transport.ts";

/** Credentials whose next reading the test chooses. */
class TestCredentials implements Credentials {
  readonly pathPrefix = "/k8s";
  readonly origin: string;
  tls: TlsOptions;
  token = "first";
  next: { token?: string; tls?: TlsOptions } | Error = {};
  refreshes = 0;

  constructor(origin: string, tls: TlsOptions = {}) {
    this.origin = origin;
    this.tls = tls;
  }

  async headers(): Promise<Record<string, string>> {
    return { Authorization: `Bearer ${this.token}` };
  }

  async refresh(): Promise<void> {
    this.refreshes++;
    if (this.next instanceof Error) throw this.next;
    Object.assign(this, this.next);
  }
}

async function listen(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function open(credentials: Credentials): Transport {
  const transport = httpTransport(credentials);
  onTestFinished(() => transport.close());
  return transport;
}

async function serve(listener: RequestListener) {
  const credentials = new TestCredentials(`http://${await listen(createServer(listener))}`);
  return { credentials, transport: open(credentials) };
}

async function ask(transport: Transport, signal = new AbortController().signal) {
  const { status, body } = await transport.send({ method: "GET", path: "/api", headers: {}, signal });
  return { status, text: await readText(body) };
}

/** Accepts requests with the token. */
function guard(token: string): RequestListener {
  return ({ headers }, response) => {
    const known = headers.authorization === `Bearer ${token}`;
    response.writeHead(known ? 200 : 401).end(known ? "welcome" : "who are you?");
  };
}

test("a request has the credentials and the path prefix, and its response is returned unchanged", async () => {
  let seen: IncomingMessage | undefined;
  const { transport } = await serve((request, response) => {
    seen = request;
    response.writeHead(201, { "retry-after": "7" }).end("done");
  });
  const { signal } = new AbortController();
  const headers = { "user-agent": "unit" };
  const answer = await transport.send({ method: "POST", path: "/api?x=1", headers, body: "{}", signal });
  expect(await readText(answer.body)).toBe("done");
  expect(answer).toMatchObject({ status: 201, headers: { "retry-after": "7" } });
  expect(seen).toMatchObject({ method: "POST", url: "/k8s/api?x=1" });
  expect(seen?.headers).toMatchObject({ authorization: "Bearer first", "user-agent": "unit" });
});

test("a response that is cut in its body has a status, and its body fails", async () => {
  const { transport } = await serve((_, response) => {
    response.writeHead(200, { "content-length": 10 }).write("{", () => response.destroy());
  });
  const { signal } = new AbortController();
  const { status, body } = await transport.send({ method: "GET", path: "/", headers: {}, signal });
  expect(status).toBe(200);
  await expect(readText(body)).rejects.toThrow();
});

test("a response that ends with its signal fails with the reason of the signal", async () => {
  const abort = new AbortController();
  const { transport } = await serve((_, response) => void response.writeHead(200).write("{"));
  const { body } = await transport.send({ method: "GET", path: "/", headers: {}, signal: abort.signal });
  abort.abort(new Error("too late"));
  await expect(readText(body)).rejects.toThrow("too late");
});

test("a response that exceeds the limit of memory is not read to its end", async () => {
  let sent = 0;
  const { transport } = await serve((_, response) => {
    const chunk = Buffer.alloc(4 * 1024 * 1024);
    const more = () => {
      if (response.destroyed) return;
      sent += chunk.length;
      response.write(chunk, more);
    };
    response.writeHead(200);
    more();
  });
  await expect(ask(transport)).rejects.toMatchObject({ reason: "ResponseTooLarge" });
  expect(sent).toBeLessThan(1.5 * MAX_BODY_BYTES);
});

test("a request that is not admitted is not sent, and the next one uses its connection", async () => {
  const seen: (string | undefined)[] = [];
  const connections = new Set<Socket>();
  const { transport } = await serve(({ url, socket }, response) => {
    seen.push(url);
    connections.add(socket);
    response.end();
  });
  const { signal } = new AbortController();
  const send = (path: string, admit = () => {}) =>
    transport.send({ method: "POST", path, headers: {}, body: "{}", signal, admit });
  await readText((await send("/first")).body);
  const refused = send("/refused", () => {
    throw new Error("no longer leading");
  });
  await expect(refused).rejects.toThrow("no longer leading");
  await readText((await send("/second")).body);
  expect([seen, connections.size]).toEqual([["/k8s/first", "/k8s/second"], 1]);
});

describe("after a 401", () => {
  test("a rotated token is read and the request is retried", async () => {
    const { credentials, transport } = await serve(guard("second"));
    credentials.next = { token: "second" };
    expect(await ask(transport)).toEqual({ status: 200, text: "welcome" });
    expect(credentials.refreshes).toBe(1);
  });

  test("nothing is repeated when the credentials are still the same", async () => {
    let requests = 0;
    const { transport } = await serve((_, response) => {
      requests++;
      response.writeHead(401).end("no");
    });
    expect(await ask(transport)).toEqual({ status: 401, text: "no" });
    expect(requests).toBe(1);
  });

  test("the request is repeated only once", async () => {
    const { credentials, transport } = await serve(guard("third"));
    credentials.next = { token: "second" };
    expect((await ask(transport)).status).toBe(401);
  });

  test("requests that were on their way when another one read the new token are repeated too", async () => {
    const held: (() => void)[] = [];
    const { credentials, transport } = await serve((request, response) => {
      if (request.headers.authorization === "Bearer first" && held.length < 2) {
        held.push(() => guard("second")(request, response));
      } else guard("second")(request, response);
    });
    credentials.next = { token: "second" };
    const answers = [ask(transport), ask(transport)];
    while (held.length < 2) await new Promise((resolve) => setImmediate(resolve));
    held[0]?.();
    await answers[0];
    held[1]?.();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200]);
    expect(credentials.refreshes).toBe(1);
  });

  test("credentials that cannot be read leave the answer at the 401", async () => {
    const { credentials, transport } = await serve(guard("second"));
    credentials.next = new Error("no such file");
    expect(await ask(transport)).toEqual({ status: 401, text: "who are you?" });
  });

  test("a rotated client certificate is used, on new connections", async () => {
    const authority = createCertificateAuthority();
    const server = createSecureServer(
      { ...authority.issue(["127.0.0.1"]), ca: authority.cert, requestCert: true, rejectUnauthorized: false },
      ({ socket }, response) => {
        const { subject } = (socket as TLSSocket).getPeerCertificate();
        response.writeHead(subject?.CN === "second" ? 200 : 401).end(String(subject?.CN));
      },
    );
    const tls = (name: string): TlsOptions => ({ ...authority.issue([name]), ca: authority.cert });
    const credentials = new TestCredentials(`https://${await listen(server)}`, tls("first"));
    const transport = open(credentials);
    expect(await ask(transport)).toEqual({ status: 401, text: "first" });
    credentials.next = { tls: tls("second") };
    expect(await ask(transport)).toEqual({ status: 200, text: "second" });
    expect(await ask(transport)).toEqual({ status: 200, text: "second" });
    expect(credentials.refreshes).toBe(2);
  });
});

test("a server whose certificate is signed by another authority is not talked to", async () => {
  const server = createSecureServer(createCertificateAuthority().issue(["127.0.0.1"]), guard("first"));
  const credentials = new TestCredentials(`https://${await listen(server)}`, {
    ca: createCertificateAuthority().cert,
  });
  await expect(ask(open(credentials))).rejects.toThrow(/certificate/);
});

test("a request ends with its signal even while its credentials hang", async () => {
  const { credentials, transport } = await serve(guard("first"));
  credentials.headers = () => new Promise(() => {});
  const abort = new AbortController();
  const work = ask(transport, abort.signal);
  abort.abort(new Error("too late"));
  await expect(work).rejects.toThrow("too late");
});

test("a request ends with its signal even while all connections are in use, and is not sent", async () => {
  const seen: (string | undefined)[] = [];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { transport } = await serve(async ({ url }, response) => {
    seen.push(url);
    await released;
    response.end();
  });
  const { signal } = new AbortController();
  const send = (path: string, until = signal) =>
    transport.send({ method: "GET", path, headers: {}, signal: until });
  const others = Array.from({ length: 64 }, () => send("/other"));
  const abort = new AbortController();
  const work = send("/waiting", abort.signal);
  await vi.waitFor(() => expect(seen).not.toEqual([]));
  abort.abort(new Error("too late"));
  await expect(work).rejects.toThrow("too late");
  release();
  await Promise.all(others);
  expect([seen.length, new Set(seen)]).toEqual([64, new Set(["/k8s/other"])]);
});

test("any number of watches leaves the connections for requests free", async () => {
  const { transport } = await serve(({ url }, response) => {
    if (url?.includes("watch=true")) response.writeHead(200).flushHeaders();
    else response.end('{"metadata":{"resourceVersion":"1"},"items":[]}');
  });
  const client = new HttpClient({ transport, clock: systemClock, fieldManager: "x", userAgent: "x" });
  const abort = new AbortController();
  const options = { timeoutSeconds: 60, idleTimeoutMs: 60_000, signal: abort.signal };
  const watches = Array.from({ length: 64 }, () =>
    client.watch(ConfigMap, options)[Symbol.asyncIterator]().next(),
  );
  const ended = Promise.allSettled(watches);
  await expect(client.list(ConfigMap)).resolves.toMatchObject({ items: [] });
  abort.abort();
  expect((await ended).every(({ status }) => status === "rejected")).toBe(true);
});

test("a watch that is given up takes its connection along, so that the next one does not use a dead one", async () => {
  const authority = createCertificateAuthority();
  const server = createHttp2Server({ ...authority.issue(["127.0.0.1"]), allowHTTP1: true });
  server.on("request", (_, response) => void response.write("{"));
  let connections = 0;
  server.on("secureConnection", () => connections++);
  const transport = open(new TestCredentials(`https://${await listen(server)}`, { ca: authority.cert }));
  for (let attempt = 1; attempt <= 3; attempt++) {
    const abort = new AbortController();
    const request = { method: "GET", path: "/", headers: {}, streaming: true, signal: abort.signal } as const;
    const { body } = await transport.send(request);
    expect(connections).toBe(attempt);
    abort.abort();
    await expect(readText(body)).rejects.toThrow();
  }
});

test.each([
  ["never answers", () => {}],
  ["stops in the middle", (response) => void response.writeHead(200).write("{")],
] satisfies [string, (response: Parameters<RequestListener>[1]) => void][])(
  "a request to a server that %s fails by the client's deadline",
  async (_, begin) => {
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    const { transport } = await serve((_request, response) => {
      begin(response);
      resolve();
    });
    const clock = new VirtualClock();
    const client = new HttpClient({ transport, clock, fieldManager: "x", userAgent: "x" });
    const work = client.list(ConfigMap).catch((error: unknown) => error);
    await begun;
    await clock.advance(30_000);
    expect(await work).toMatchObject({ name: "ApiError", reason: "Timeout" });
  },
);
