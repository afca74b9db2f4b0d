import { describe, expect, it } from "vitest";
import { stubClient } from "../../../test/support/stub-client.ts";
import type { Client } from "../client/client.ts";
import { NotLeaderError } from "../errors.ts";
import { ConfigMap } from "../kinds.ts";
import { fencedClient } from "./fence.ts";

const ref = { namespace: "ns", name: "x" };
const reads: [string, (client: Client) => unknown][] = [
  ["get", (client) => client.get(ConfigMap, ref)],
  ["list", (client) => client.list(ConfigMap)],
  ["watch", (client) => client.watch(ConfigMap, { timeoutSeconds: 1, idleTimeoutMs: 1 })],
];
const writes: [string, (client: Client) => Promise<unknown>][] = [
  ["create", (client) => client.create(ConfigMap, {})],
  ["apply", (client) => client.apply(ConfigMap, {})],
  ["mergePatch", (client) => client.mergePatch(ConfigMap, ref, {})],
  ["jsonPatch", (client) => client.jsonPatch(ConfigMap, ref, [])],
  ["patchStatus", (client) => client.patchStatus(ConfigMap, ref, {})],
  ["delete", (client) => client.delete(ConfigMap, ref)],
];

function setUp(isLeader: boolean) {
  const sent: string[] = [];
  const send = (verb: string) => async () => void sent.push(verb);
  const methods = Object.fromEntries([...reads, ...writes].map(([verb]) => [verb, send(verb)]));
  return { sent, client: fencedClient(stubClient(methods), { isLeader: () => isLeader }) };
}

describe("fencedClient", () => {
  it.each(writes)("sends no %s while another process may lead", async (_, write) => {
    const { sent, client } = setUp(false);
    await expect(write(client)).rejects.toBeInstanceOf(NotLeaderError);
    expect(sent).toEqual([]);
  });

  it.each(writes)("lets the leader %s", async (verb, write) => {
    const { sent, client } = setUp(true);
    await write(client);
    expect(sent).toEqual([verb]);
  });

  it.each(reads)("lets a standby %s, to keep its caches warm", async (verb, read) => {
    const { sent, client } = setUp(false);
    await read(client);
    expect(sent).toEqual([verb]);
  });
});
