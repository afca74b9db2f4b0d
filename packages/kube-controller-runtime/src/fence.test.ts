import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished, test } from "vitest";
import { VirtualClock } from "../testing/clock.ts";
import { eventually } from "../testing/eventually.ts";
import { FakeApi } from "../testing/fake-api/fake-api.ts";
import { FaultyTransport } from "../testing/faulty-transport.ts";
import type { Client } from "./client/client.ts";
import type { Credentials } from "./client/credentials.ts";
import { HttpClient } from "./client/http-client.ts";
import { httpTransport, type Transport } from "./client/transport.ts";
import { type Clock, systemClock } from "./clock.ts";
import { NotLeaderError } from "./errors.ts";
import { LeaderFence } from "./fence.ts";
import { ConfigMap } from "./kinds.ts";

const ref = { namespace: "ns", name: "x" };
const object = () => ({ metadata: { ...ref } });
const reads: [string, (client: Client) => unknown][] = [
  ["get", (client) => client.get(ConfigMap, ref)],
  ["list", (client) => client.list(ConfigMap)],
];
const writes: [string, (client: Client) => Promise<unknown>][] = [
  ["create", (client) => client.create(ConfigMap, { metadata: { namespace: "ns", name: "y" } })],
  ["apply", (client) => client.apply(ConfigMap, object())],
  ["mergePatch", (client) => client.mergePatch(ConfigMap, ref, {})],
  ["jsonPatch", (client) => client.jsonPatch(ConfigMap, ref, [])],
  ["delete", (client) => client.delete(ConfigMap, ref)],
];

function clientOf(transport: Transport, clock: Clock): HttpClient {
  return new HttpClient({ transport, clock, fieldManager: "operator", userAgent: "operator" });
}

async function setUp() {
  const api = new FakeApi(new VirtualClock());
  await api.client().create(ConfigMap, object());
  const transport = new FaultyTransport(api);
  const fence = new LeaderFence();
  return { transport, fence, client: clientOf(transport, new VirtualClock()).fencedBy(fence) };
}

describe("a fenced client", () => {
  it.each(writes)("sends no %s before this process leads", async (_, write) => {
    const { client, transport } = await setUp();
    await expect(write(client)).rejects.toBeInstanceOf(NotLeaderError);
    expect(transport.requests).toEqual([]);
  });

  it.each(writes)("allows the leader to %s", async (_, write) => {
    const { client, fence, transport } = await setUp();
    fence.open(() => true);
    await write(client);
    expect(transport.requests).toHaveLength(1);
  });

  it.each(reads)("allows a standby to %s, to keep its caches warm", async (_, read) => {
    const { client, transport } = await setUp();
    await read(client);
    expect(transport.requests).toHaveLength(1);
  });

  it.each(writes)("blocks a %s that waited while leadership was lost", async (_, write) => {
    const { client, fence, transport } = await setUp();
    let leads = true;
    fence.open(() => leads);
    transport.fault = async (_request, pass) => {
      leads = false;
      return pass();
    };
    await expect(write(client)).rejects.toBeInstanceOf(NotLeaderError);
    expect(fence.signal.aborted).toBe(true);
  });
});

test("leadership that was found lost does not return, regardless of the clocks", () => {
  const fence = new LeaderFence();
  let leads = false;
  fence.open(() => leads);
  expect(() => fence.assertLeading()).toThrow(NotLeaderError);
  leads = true;
  expect(() => fence.assertLeading()).toThrow(NotLeaderError);
});

/** An API server that delays every response. */
async function slowServer() {
  const answers: ServerResponse[] = [];
  const server = createServer((_request, response) => void answers.push(response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const credentials: Credentials = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pathPrefix: "",
    tls: {},
    headers: async () => ({}),
    refresh: async () => {},
  };
  const transport = httpTransport(credentials);
  onTestFinished(() => transport.close());
  return { answers, credentials, transport };
}

test("writes that wait for one of the connections when leadership is lost never reach the server", async () => {
  const { answers, transport } = await slowServer();
  const fence = new LeaderFence();
  let leads = true;
  fence.open(() => leads);
  const client = clientOf(transport, systemClock).fencedBy(fence);
  const underWay = Promise.allSettled(
    Array.from({ length: 150 }, () => client.mergePatch(ConfigMap, ref, {})),
  );
  await eventually(() => expect(answers).toHaveLength(32), { withinMs: 5_000 });

  leads = false;
  for (const answer of answers.slice(0, 32)) answer.end("{}");
  const results = await underWay;

  expect(answers).toHaveLength(32);
  const refused = results.filter((result) => result.status === "rejected");
  expect(refused).toHaveLength(118);
  for (const { reason } of refused) expect(reason).toBeInstanceOf(NotLeaderError);
});

test("a write that waits for credentials when leadership is lost never reaches the server", async () => {
  const { answers, credentials, transport } = await slowServer();
  const plugin = Promise.withResolvers<Record<string, string>>();
  Object.assign(credentials, { headers: () => plugin.promise });
  const fence = new LeaderFence();
  let leads = true;
  fence.open(() => leads);
  const write = clientOf(transport, systemClock).fencedBy(fence).mergePatch(ConfigMap, ref, {});
  leads = false;
  plugin.resolve({});
  await expect(write).rejects.toBeInstanceOf(NotLeaderError);
  expect(answers).toEqual([]);
});
