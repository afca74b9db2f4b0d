import { Secret } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CoderWorkspaceProxy } from "../../../src/api/v1alpha1/kinds.ts";
import {
  bootstrap,
  type Coderd,
  openProxyStage,
  type ProxyStage,
} from "../../support/stages/workspace-proxy.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let stage: ProxyStage;
beforeAll(async () => {
  stage = await openProxyStage(new MemoryWorld(), "token");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const creations = "POST /api/v2/workspaceproxies";
const regenerations = /^PATCH /;

/** A registered proxy, and a coderd for it alone. */
async function registered(name: string): Promise<{ coderd: Coderd; secret: string; token: string }> {
  const coderd = await stage.coderd(name);
  await stage.create(name, bootstrap(coderd));
  const secret = `${name}-proxy-token`;
  const token = await stage.untilTokenWorks(coderd, secret);
  await stage.untilRegistered(name);
  return { coderd, secret, token };
}

const checksum = async (name: string) => (await stage.container(name)).annotations?.["checksum/proxy-token"];

describe("a token that is not what it was is replaced at once, and its pods with it", () => {
  const data = (token: string) => ({ data: { token: Buffer.from(token).toString("base64") } });
  const harm: [string, (secret: string, token: string) => Promise<unknown>][] = [
    ["deleted", (secret) => stage.delete(Secret, secret)],
    ["emptied", (secret) => stage.person.mergePatch(Secret, stage.ref(secret), { data: null })],
    ["blanked", (secret) => stage.person.mergePatch(Secret, stage.ref(secret), data(" \n"))],
    ["garbled", (secret) => stage.person.mergePatch(Secret, stage.ref(secret), data("two\nlines"))],
    [
      "tampered",
      (secret, token) => {
        const other = `${token.slice(0, -1)}${token.endsWith("0") ? "1" : "0"}`;
        return stage.person.mergePatch(Secret, stage.ref(secret), data(other));
      },
    ],
  ];

  test.each(harm)("%s", async (name, inflict) => {
    const { coderd, secret, token } = await registered(name);
    const before = await checksum(name);
    const id = coderd.deployment.proxies[0]?.id;
    await inflict(secret, token);
    await stage.eventually(() => expect(coderd.deployment.proxies[0]?.token).not.toBe(token));
    await stage.untilTokenWorks(coderd, secret);
    await stage.eventually(async () => expect(await checksum(name)).not.toBe(before));
    expect(coderd.deployment.proxies.map((proxy) => proxy.id)).toEqual([id]);
    expect(coderd.deployment.count(regenerations)).toBe(1);
    expect(coderd.deployment.count(creations)).toBe(1);
    expect(await stage.untilEvent(name, "TokenRegenerated")).toContain(`"${name}"`);
  });
});

test("a token that was regenerated in coderd is replaced within a minute", async () => {
  const { coderd, secret, token } = await registered("replaced");
  const [proxy] = coderd.deployment.proxies;
  if (proxy) proxy.token = token.replace(/.{8}$/, "01234567");
  await stage.timePasses(60_000);
  await stage.eventually(async () => expect(await stage.token(secret)).not.toBe(token));
  await stage.untilTokenWorks(coderd, secret);
});

test("a proxy that was deleted in coderd is registered again within a minute", async () => {
  const { coderd, secret } = await registered("gone");
  const before = (await stage.status("gone")).proxyID;
  coderd.deployment.proxies = [];
  await stage.timePasses(60_000);
  await stage.untilTokenWorks(coderd, secret);
  const { proxyID } = await stage.eventually(async () => {
    const status = await stage.status("gone");
    expect(status.proxyID).not.toBe(before);
    return stage.untilRegistered("gone");
  });
  expect(coderd.deployment.proxies.map(({ id }) => id)).toEqual([proxyID]);
});

describe("a name that is taken at coderd", () => {
  test("is left to its owner, and used once it is free", async () => {
    const coderd = await stage.coderd("taken");
    await stage.create("first", bootstrap(coderd, { proxyName: "taken" }));
    const token = await stage.untilTokenWorks(coderd, "first-proxy-token");
    await stage.create("second", bootstrap(coderd, { proxyName: "Taken" }));
    const { message } = await stage.untilCondition("second", "Registered", {
      status: "False",
      reason: "ProxyNameTaken",
    });
    expect(message).toContain('already has a proxy "Taken"');
    expect(await stage.untilEvent("second", "ProxyNameTaken")).toBe(message);
    expect((await stage.status("second")).registered).toBe(false);
    expect(coderd.deployment.proxies).toMatchObject([{ token }]);
    await stage.restart();
    await stage.untilCondition("second", "Registered", { reason: "ProxyNameTaken" });
    expect(coderd.deployment.proxies).toMatchObject([{ token }]);

    coderd.deployment.proxies = coderd.deployment.proxies.filter(({ name }) => name !== "taken");
    await stage.change("first", { bootstrap: { proxyName: "another" } });
    await stage.timePasses(30_000);
    await stage.untilRegistered("second");
    await stage.untilStatus("first", { proxyName: "another" });
  });

  test("between our look and our request does not become ours", async () => {
    const coderd = await stage.coderd("race");
    const body = { message: 'Workspace proxy with name "race" already exists.' };
    coderd.deployment.faults.inject({
      fault: { kind: "answer", status: 409, body },
      on: creations,
      times: 1,
    });
    await stage.create("race", bootstrap(coderd));
    await stage.untilCondition("race", "Registered", { status: "False", reason: "ProxyNameTaken" });
    expect((await stage.status("race")).proxyName).toBeUndefined();
  });
});

test("a manually created Secret with the valid token is adopted unchanged, once handed over", async () => {
  const { coderd, secret, token } = await registered("handmade");
  await stage.operator.stop();
  await stage.delete(Secret, secret);
  await stage.putToken(secret, token);
  await stage.restart();
  await stage.untilCondition("handmade", "Conflict", { status: "True", reason: "SecretNotOurs" });
  const annotations = { "coder.com/adopt-by": "CoderWorkspaceProxy/handmade" };
  await stage.person.mergePatch(Secret, stage.ref(secret), { metadata: { annotations } });
  await stage.timePasses(30_000);
  await stage.eventually(async () =>
    expect((await stage.get(Secret, secret)).metadata.ownerReferences).toHaveLength(1),
  );
  expect(await stage.token(secret)).toBe(token);
  expect(coderd.deployment.count(regenerations)).toBe(0);
});

test("an object that is restored from a backup without its status takes up its registration again", async () => {
  const { coderd, secret, token } = await registered("restored");
  await stage.operator.stop();
  await stage.person.patchStatus(CoderWorkspaceProxy, stage.ref("restored"), { status: null });
  await stage.restart();
  await stage.untilRegistered("restored");
  expect(await stage.token(secret)).toBe(token);
  expect(coderd.deployment.count(/^(POST|PATCH) /)).toBe(1);
});
