import { Deployment, Secret } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Fault } from "../../../lab/coderd/faults.ts";
import { bootstrap, openProxyStage, type ProxyStage } from "../../support/stages/workspace-proxy.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let stage: ProxyStage;
beforeAll(async () => {
  stage = await openProxyStage(new MemoryWorld(), "failures");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const RETRY_MS = 30_000;

describe("credentials", () => {
  test("a missing Secret is named, and used as soon as it exists", async () => {
    const coderd = await stage.coderd("late");
    await stage.delete(Secret, coderd.credentials);
    await stage.create("late", bootstrap(coderd));
    const { message } = await stage.untilCondition("late", "CredentialsReady", {
      status: "False",
      reason: "SecretMissing",
    });
    expect(message).toContain(`Secret "${coderd.credentials}"`);
    await stage.untilCondition("late", "Ready", { status: "False", reason: "SecretMissing" });
    expect(coderd.deployment.count()).toBe(0);
    await stage.putToken(coderd.credentials, coderd.owner);
    await stage.untilRegistered("late");
  });

  test("a token that coderd does not know is refused, and the right one tried at once", async () => {
    const coderd = await stage.coderd("stranger");
    await stage.putToken(coderd.credentials, "unknownabc-unknownunknownunknown1");
    await stage.create("stranger", bootstrap(coderd));
    const { message } = await stage.untilCondition("stranger", "Registered", {
      status: "False",
      reason: "Forbidden",
    });
    expect(message).toContain("signed out");
    await stage.putToken(coderd.credentials, coderd.owner);
    await stage.untilRegistered("stranger");
  });

  test("a user without the permission is refused, and has not claimed the name", async () => {
    const coderd = await stage.coderd("member");
    const member = "membermemb-membermembermembermem1";
    coderd.accounts.add(member, { owner: false });
    await stage.putToken(coderd.credentials, member);
    await stage.create("member", bootstrap(coderd));
    const { message } = await stage.untilCondition("member", "Registered", { reason: "Forbidden" });
    expect(message).toContain("lacks the permission");
    expect((await stage.status("member")).proxyName).toBeUndefined();
  });
});

describe("a coderd that can't or won't", () => {
  test("without the license: one request in two minutes, and registered when it is licensed", async () => {
    const coderd = await stage.coderd("unlicensed");
    const { licenses } = coderd.deployment;
    coderd.deployment.licenses = [];
    await stage.create("unlicensed", bootstrap(coderd));
    const { message } = await stage.untilCondition("unlicensed", "Registered", {
      status: "False",
      reason: "NotEntitled",
    });
    expect(message).toContain("Premium feature");
    expect(await stage.untilEvent("unlicensed", "NotEntitled")).toBe(message);
    const before = coderd.deployment.count();
    await stage.timePasses(110_000);
    await stage.change("unlicensed", { replicas: 2 });
    await stage.untilStatus("unlicensed", { observedGeneration: 2 });
    expect(coderd.deployment.count()).toBe(before);
    coderd.deployment.licenses = licenses;
    await stage.timePasses(10_000);
    await stage.untilRegistered("unlicensed");
  });

  test("an open-source build is not supported", async () => {
    const coderd = await stage.coderd("agpl", { openSource: true });
    await stage.create("agpl", bootstrap(coderd));
    await stage.untilCondition("agpl", "Registered", { status: "False", reason: "NotSupported" });
  });

  test.each<[string, Fault]>([
    ["cut", { kind: "cut" }],
    ["html", { kind: "html" }],
    ["truncated", { kind: "truncatedJson" }],
    ["loop", { kind: "redirectLoop" }],
    ["broken", { kind: "answer", status: 502, body: { message: "Bad gateway" } }],
  ])("that answers with %s is tried again calmly", async (name, fault) => {
    const coderd = await stage.coderd(name);
    const end = coderd.deployment.faults.inject({ fault });
    await stage.create(name, bootstrap(coderd));
    await stage.untilCondition(name, "Registered", { status: "False", reason: "CoderdUnreachable" });
    await stage.untilEvent(name, "CoderdUnreachable");
    const before = coderd.deployment.count();
    await stage.change(name, { replicas: 2 });
    await stage.untilStatus(name, { observedGeneration: 2 });
    expect(coderd.deployment.count()).toBe(before);
    end();
    await stage.timePasses(RETRY_MS);
    await stage.untilRegistered(name);
  });

  test("that limits requests is left alone for as long as it asks", async () => {
    const coderd = await stage.coderd("limited");
    coderd.deployment.faults.inject({ fault: { kind: "rateLimited", retryAfter: "100" }, times: 1 });
    await stage.create("limited", bootstrap(coderd));
    await stage.untilCondition("limited", "Registered", { status: "False", reason: "RateLimited" });
    expect(coderd.deployment.count()).toBe(1);
    await stage.timePasses(99_000);
    await stage.change("limited", { replicas: 2 });
    await stage.untilStatus("limited", { observedGeneration: 2 });
    expect(coderd.deployment.count()).toBe(1);
    await stage.timePasses(10_000);
    await stage.untilRegistered("limited");
  });
});

test("a running proxy continues while coderd is unreachable, and follows its spec", async () => {
  const coderd = await stage.coderd("away");
  await stage.create("away", bootstrap(coderd));
  await stage.untilRegistered("away");
  await stage.markReady("wsproxy-away");
  coderd.deployment.faults.inject({ fault: { kind: "cut" } });
  await stage.timePasses(60_000);
  await stage.untilCondition("away", "Registered", { status: "False", reason: "CoderdUnreachable" });
  await stage.untilCondition("away", "Healthy", { status: "Unknown" });
  await stage.change("away", { replicas: 3 });
  await stage.eventually(async () =>
    expect((await stage.get(Deployment, "wsproxy-away")).spec?.replicas).toBe(3),
  );
  expect(await stage.status("away")).toMatchObject({ registered: true, phase: "Ready" });
});

describe("a foreign Secret for the token", () => {
  test("is left alone, and coderd is not asked for a token that could not be kept", async () => {
    const coderd = await stage.coderd("foreign");
    const owner = await stage.create("owner", bootstrap(await stage.coderd("owner")));
    await stage.untilRegistered("owner");
    await stage.create("foreign", bootstrap(coderd, { generatedTokenSecretName: "owner-proxy-token" }));
    const { message } = await stage.untilCondition("foreign", "Registered", {
      status: "False",
      reason: "SecretNotOurs",
    });
    expect(message).toContain('belongs to CoderWorkspaceProxy "owner"');
    expect(coderd.deployment.proxies).toEqual([]);
    const { metadata } = await stage.get(Secret, "owner-proxy-token");
    expect(metadata.ownerReferences).toMatchObject([{ uid: owner.metadata.uid }]);
  });
});
