import { Deployment, isNotFound, Secret } from "kube-controller-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CoderWorkspaceProxy } from "../../../src/api/v1alpha1/kinds.ts";
import { bootstrap, openProxyStage, type ProxyStage } from "../../support/stages/workspace-proxy.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let stage: ProxyStage;
beforeAll(async () => {
  stage = await openProxyStage(new MemoryWorld(), "given");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const primaryAccessURL = "https://coder.example.com";
const given = (name: string, key?: string) => ({
  primaryAccessURL,
  proxySessionTokenSecretRef: { name, ...(key ? { key } : {}) },
});
const checksum = async (name: string) => (await stage.container(name)).annotations?.["checksum/proxy-token"];

test("a proxy with a given token runs with it, and coderd is never asked", async () => {
  await stage.putSecret("mine", { value: "a-token-of-a-person" });
  await stage.create("manual", given("mine", "value"));
  const { env, image } = await stage.container("manual");
  expect(image).toBe("ghcr.io/coder/coder:latest");
  expect(env?.slice(0, 2)).toEqual([
    { name: "CODER_PRIMARY_ACCESS_URL", value: primaryAccessURL },
    { name: "CODER_PROXY_SESSION_TOKEN", valueFrom: { secretKeyRef: { name: "mine", key: "value" } } },
  ]);
  await stage.markReady("wsproxy-manual");
  await stage.untilCondition("manual", "Ready", { status: "True", reason: "Serving" });
  expect(await stage.status("manual")).toMatchObject({
    registered: false,
    proxyTokenSecretRef: { name: "mine", key: "value" },
    phase: "Ready",
  });
  const { metadata } = await stage.get(CoderWorkspaceProxy, "manual");
  expect(metadata.finalizers ?? []).toEqual([]);
});

test("another token rolls the pods within a second or two", async () => {
  await stage.putToken("rolled", "the-first-token");
  await stage.create("rolled", given("rolled"));
  const before = await checksum("rolled");
  await stage.putToken("rolled", "the-second-token");
  await stage.eventually(async () => expect(await checksum("rolled")).not.toBe(before), { withinMs: 5_000 });
});

test("a missing Secret is named; nothing runs without it, and what runs is left alone", async () => {
  await stage.create("missing", given("nowhere"));
  const { message } = await stage.untilCondition("missing", "CredentialsReady", { reason: "SecretMissing" });
  expect(message).toContain('Secret "nowhere"');
  await stage.untilCondition("missing", "DeploymentReady", { status: "False", reason: "Pending" });
  await expect(stage.get(Deployment, "wsproxy-missing")).rejects.toSatisfy(isNotFound);
  await stage.putToken("nowhere", "found-after-all");
  await stage.markReady("wsproxy-missing");
  await stage.untilCondition("missing", "Ready", { status: "True" });

  await stage.delete(Secret, "nowhere");
  await stage.untilCondition("missing", "CredentialsReady", { status: "False", reason: "SecretMissing" });
  expect(await stage.status("missing")).toMatchObject({ phase: "Ready", readyReplicas: 1 });
});

test("a registered proxy that is given a token releases its registration, and reports what remains", async () => {
  const coderd = await stage.coderd("switched");
  await stage.create("switched", bootstrap(coderd));
  const token = await stage.untilTokenWorks(coderd, "switched-proxy-token");
  await stage.untilRegistered("switched");
  await stage.putToken("taken-over", token);
  await stage.change("switched", { bootstrap: null, ...given("taken-over") });
  await stage.untilCondition("switched", "Registered", { status: "Unknown", reason: "NotManaged" });
  await stage.untilGone(Secret, "switched-proxy-token");
  const { metadata, status } = await stage.get(CoderWorkspaceProxy, "switched");
  expect(metadata.finalizers ?? []).toEqual([]);
  expect(status).toMatchObject({ registered: false, proxyTokenSecretRef: { name: "taken-over" } });
  expect(status?.proxyID).toBeUndefined();
  expect(coderd.deployment.proxies).toMatchObject([{ token }]);
  expect(await stage.untilEvent("switched", "NotDeregistered")).toContain(
    `remains registered at ${coderd.url}`,
  );
});

test("the Secret that the operator made may be given as the token, and stays", async () => {
  const coderd = await stage.coderd("kept");
  await stage.create("kept", bootstrap(coderd));
  const token = await stage.untilTokenWorks(coderd, "kept-proxy-token");
  await stage.untilRegistered("kept");
  await stage.delete(Secret, coderd.credentials);
  await stage.change("kept", { bootstrap: null, ...given("kept-proxy-token") });
  await stage.untilCondition("kept", "Registered", { status: "Unknown", reason: "NotManaged" });
  await stage.untilCondition("kept", "CredentialsReady", { status: "True" });
  expect(await stage.token("kept-proxy-token")).toBe(token);
});
