import { Deployment, Ingress } from "kube-controller-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { openProxyStage, type ProxyStage } from "../../support/stages/workspace-proxy.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let stage: ProxyStage;
beforeAll(async () => {
  stage = await openProxyStage(new MemoryWorld(), "by-reference");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const by = (name: string) => ({ controlPlaneRef: { name } });

test("a proxy that names a control plane is registered with its operator token and runs its image", async () => {
  const coderd = await stage.controlPlane("coder", { image: "ghcr.io/coder/coder:v2.36.1" });
  await stage.create("sydney", { ...by("coder"), registration: { displayName: "Sydney" } });
  await stage.untilTokenWorks(coderd, "sydney-proxy-token");
  expect(await stage.untilRegistered("sydney")).toMatchObject({ coderURL: coderd.url });
  expect(coderd.deployment.proxies).toMatchObject([{ name: "sydney", displayName: "Sydney" }]);
  const { image, env } = await stage.container("sydney");
  expect(image).toBe("ghcr.io/coder/coder:v2.36.1");
  const service = `http://coder.${stage.namespace}.svc.cluster.local`;
  expect(env?.[0]).toEqual({ name: "CODER_PRIMARY_ACCESS_URL", value: service });
});

test("the proxy sends browsers to the access URL that coderd has, and follows it and the image once coderd serves it", async () => {
  const extraEnv = [{ name: "CODER_ACCESS_URL", value: "https://coder.example.com" }];
  const spec = { extraEnv, upgrade: { strategy: "Rolling" } };
  await stage.controlPlane("public", spec);
  await stage.create("tokyo", by("public"));
  const primary = async () => (await stage.container("tokyo")).env?.[0]?.value;
  expect(await primary()).toBe("https://coder.example.com");
  await stage.person.mergePatch(CoderControlPlane, stage.ref("public"), {
    spec: {
      image: "example.com/coder:next",
      extraEnv: [{ name: "CODER_ACCESS_URL", value: "https://next.example.com" }],
    },
  });
  await stage.eventually(async () => {
    expect((await stage.container("tokyo")).image).toBe("example.com/coder:next");
  });
  expect(await primary()).toBe("https://coder.example.com");
  await stage.markReady("public");
  await stage.eventually(async () => expect(await primary()).toBe("https://next.example.com"));
  await stage.change("tokyo", {
    primaryAccessURL: "https://mine.example.com",
    image: "example.com/coder:mine",
  });
  await stage.eventually(async () => {
    expect(await primary()).toBe("https://mine.example.com");
    expect((await stage.container("tokyo")).image).toBe("example.com/coder:mine");
  });
});

test("the proxy follows the access URL of a control plane that is not ready, but whose pods serve it", async () => {
  const gateway = { host: "coder.example.com", parentRefs: [{ name: "missing" }] };
  const extraEnv = (value: string) => [{ name: "CODER_ACCESS_URL", value }];
  await stage.controlPlane("unexposed", {
    expose: { gateway },
    extraEnv: extraEnv("https://typo.example.com"),
  });
  await stage.create("osaka", by("unexposed"));
  const primary = async () => (await stage.container("osaka")).env?.[0]?.value;
  expect(await primary()).toBe("https://typo.example.com");
  const spec = { extraEnv: extraEnv("https://coder.example.com") };
  await stage.person.mergePatch(CoderControlPlane, stage.ref("unexposed"), { spec });
  await stage.eventually(async () => {
    const { spec: deployed } = await stage.get(Deployment, "unexposed");
    expect(deployed?.template.spec?.containers[0]?.env).toContainEqual(spec.extraEnv[0]);
  });
  await stage.markReady("unexposed");
  await stage.eventually(async () => expect(await primary()).toBe("https://coder.example.com"));
  const { status } = await stage.person.get(CoderControlPlane, stage.ref("unexposed"));
  expect(status?.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "False" }));
});

test("the proxy keeps its URL while a conflict keeps the control plane from rolling out another one", async () => {
  const extraEnv = (value: string) => [{ name: "CODER_ACCESS_URL", value }];
  await stage.controlPlane("blocked", { extraEnv: extraEnv("https://coder.example.com") });
  await stage.create("lima", by("blocked"));
  const primary = async () => (await stage.container("lima")).env?.[0]?.value;
  expect(await primary()).toBe("https://coder.example.com");
  await stage.markReady("blocked");
  const { apiVersion, kind } = Ingress;
  const spec = { defaultBackend: { service: { name: "other", port: { number: 80 } } } };
  await stage.person.create(Ingress, { apiVersion, kind, metadata: stage.ref("blocked"), spec });
  await stage.person.mergePatch(CoderControlPlane, stage.ref("blocked"), {
    spec: {
      expose: { ingress: { host: "next.example.com" } },
      extraEnv: extraEnv("https://next.example.com"),
    },
  });
  await stage.eventually(async () => {
    const { status } = await stage.person.get(CoderControlPlane, stage.ref("blocked"));
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: "Conflict", status: "True", observedGeneration: 2 }),
    );
  });
  await stage.untilIdle();
  expect(await primary()).toBe("https://coder.example.com");
  await stage.person.delete(Ingress, stage.ref("blocked"));
  await stage.eventually(async () => {
    const { spec: deployed } = await stage.get(Deployment, "blocked");
    expect(deployed?.template.spec?.containers[0]?.env).toContainEqual(
      extraEnv("https://next.example.com")[0],
    );
  });
  await stage.markReady("blocked");
  await stage.eventually(async () => expect(await primary()).toBe("https://next.example.com"));
});

test("a control plane that comes later is waited for, and asked as soon as it is ready", async () => {
  await stage.create("early", by("later"));
  const { message } = await stage.untilCondition("early", "CoderdFound", {
    status: "False",
    reason: "NotFound",
  });
  expect(message).toContain('CoderControlPlane "later" does not exist');
  const coderd = await stage.coderd("later", {}, `later.${stage.namespace}.svc.cluster.local`);
  await stage.person.create(CoderControlPlane, {
    apiVersion: CoderControlPlane.apiVersion,
    kind: CoderControlPlane.kind,
    metadata: stage.ref("later"),
    spec: { operatorAccess: { tokenSecretRef: { name: coderd.credentials } } },
  });
  await stage.untilCondition("early", "CredentialsReady", { status: "False", reason: "Pending" });
  expect(coderd.deployment.count()).toBe(0);
  await stage.markReady("later");
  await stage.untilRegistered("early");
});

test("a control plane without operator access is named with its own reason", async () => {
  await stage.controlPlane("closed", { operatorAccess: { disabled: true } });
  await stage.create("outside", by("closed"));
  const { message } = await stage.untilCondition("outside", "CredentialsReady", {
    status: "False",
    reason: "OperatorAccessNotReady",
  });
  expect(message).toContain("disabled by spec.operatorAccess.disabled");
});

test("a license that arrives is noticed by the control plane's status, long before the next try", async () => {
  const coderd = await stage.controlPlane("unlicensed");
  const { licenses } = coderd.deployment;
  coderd.deployment.licenses = [];
  await stage.create("waiting", by("unlicensed"));
  const refused = { status: "False", reason: "NotEntitled" } as const;
  const { message } = await stage.untilCondition("waiting", "Registered", refused);
  expect(message).toMatch(
    /^CoderControlPlane ".*" has no license, and workspace proxies require one; .*licenseSecretRef\.$/,
  );
  coderd.deployment.licenses = licenses;
  await stage.person.patchStatus(CoderControlPlane, stage.ref("unlicensed"), {
    status: { licenseLastAppliedHash: "another" },
  });
  await stage.untilRegistered("waiting");
});

test("what runs stays as it is when the control plane is deleted", async () => {
  await stage.controlPlane("leaving", { image: "example.com/coder:kept" });
  await stage.create("left", by("leaving"));
  await stage.untilRegistered("left");
  await stage.markReady("wsproxy-left");
  await stage.untilStatus("left", { phase: "Ready" });
  const before = await stage.get(Deployment, "wsproxy-left");
  await stage.delete(CoderControlPlane, "leaving");
  await stage.untilCondition("left", "CoderdFound", { status: "False", reason: "NotFound" });
  expect((await stage.get(Deployment, "wsproxy-left")).metadata.generation).toBe(before.metadata.generation);
  expect(await stage.status("left")).toMatchObject({ phase: "Ready", readyReplicas: 1 });
});
