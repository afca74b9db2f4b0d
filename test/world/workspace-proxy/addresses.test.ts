import { Deployment, Service } from "kube-controller-runtime";
import { createCertificateAuthority } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { openProxyStage, type ProxyStage } from "../../support/stages/workspace-proxy.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const PUBLIC = "coder.example.com";
const CLUSTER_IP = "10.96.0.7";
const ca = createCertificateAuthority();
const by = (name: string) => ({ controlPlaneRef: { name } });
const mapped = (ip = CLUSTER_IP) => [{ ip, hostnames: [PUBLIC] }];

let stage: ProxyStage;
beforeAll(async () => {
  stage = await openProxyStage(new MemoryWorld(), "proxy-addresses");
  await stage.putSecret("coder-tls", { "tls.crt": ca.issue([PUBLIC]).cert });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** What makes a control plane's certificate one for its access URL alone. */
const published = {
  tls: { secretNames: ["coder-tls"] },
  extraEnv: [{ name: "CODER_ACCESS_URL", value: `https://${PUBLIC}` }],
};

async function publish(name: string): Promise<void> {
  await stage.controlPlane(name, published);
  await stage.person.mergePatch(Service, stage.ref(name), { spec: { clusterIP: CLUSTER_IP } });
}

async function aliasesOf(name: string) {
  return (await stage.get(Deployment, `wsproxy-${name}`)).spec?.template.spec?.hostAliases;
}

test("a new proxy of a coderd that nothing publishes finds the access URL mapped to the Service, also to another one", async () => {
  await publish("inside");
  await stage.create("new", by("inside"));
  await stage.untilRegistered("new");
  await stage.eventually(async () => expect(await aliasesOf("new")).toEqual(mapped()));
  await stage.person.delete(Service, stage.ref("inside"));
  await stage.eventually(() =>
    stage.person.mergePatch(Service, stage.ref("inside"), { spec: { clusterIP: "10.96.0.8" } }),
  );
  await stage.eventually(async () => expect(await aliasesOf("new")).toEqual(mapped("10.96.0.8")));
});

test("a proxy that finds the access URL by DNS goes on so, until it is another URL", async () => {
  await stage.controlPlane("plain", { extraEnv: published.extraEnv });
  await stage.create("old", by("plain"));
  await stage.untilRegistered("old");
  await stage.container("old");
  await stage.person.mergePatch(Service, stage.ref("plain"), { spec: { clusterIP: CLUSTER_IP } });
  await stage.person.mergePatch(CoderControlPlane, stage.ref("plain"), { spec: published });
  const coderURL = `https://plain.${stage.namespace}.svc.cluster.local:443`;
  await stage.eventually(async () => expect(await stage.untilRegistered("old")).toMatchObject({ coderURL }));
  expect(await aliasesOf("old")).toBeUndefined();
  const extraEnv = [{ name: "CODER_ACCESS_URL", value: `https://${PUBLIC}/` }];
  await stage.person.mergePatch(CoderControlPlane, stage.ref("plain"), { spec: { extraEnv } });
  await stage.eventually(async () => {
    const { spec } = await stage.get(Deployment, "plain");
    expect(spec?.template.spec?.containers[0]?.env).toContainEqual(extraEnv[0]);
  });
  await stage.markReady("plain");
  await stage.eventually(async () => expect(await aliasesOf("old")).toEqual(mapped()));
});

test("a proxy keeps the alias of the URL that it dials until coderd's pods serve another one", async () => {
  const NEXT = "next.example.com";
  await publish("moving");
  await stage.create("moved", by("moving"));
  await stage.untilRegistered("moved");
  await stage.eventually(async () => expect(await aliasesOf("moved")).toEqual(mapped()));
  await stage.markReady("moving");
  await stage.putSecret("next-tls", { "tls.crt": ca.issue([NEXT]).cert });
  const extraEnv = [{ name: "CODER_ACCESS_URL", value: `https://${NEXT}` }];
  const spec = { tls: { secretNames: ["next-tls"] }, extraEnv };
  await stage.person.mergePatch(CoderControlPlane, stage.ref("moving"), { spec });
  await stage.eventually(async () => {
    const deployment = await stage.get(Deployment, "moving");
    expect(deployment.spec?.template.spec?.containers[0]?.env).toContainEqual(extraEnv[0]);
  });
  await stage.untilIdle();
  expect((await stage.container("moved")).env?.[0]?.value).toBe(`https://${PUBLIC}`);
  expect(await aliasesOf("moved")).toEqual(mapped());
  await stage.markReady("moving");
  const next = [{ ip: CLUSTER_IP, hostnames: [NEXT] }];
  await stage.eventually(async () => expect(await aliasesOf("moved")).toEqual(next));
  expect((await stage.container("moved")).env?.[0]?.value).toBe(`https://${NEXT}`);
});

test("a primary access URL in spec.extraEnv is found by DNS", async () => {
  await publish("overridden");
  const extraEnv = [{ name: "CODER_PRIMARY_ACCESS_URL", value: `https://${PUBLIC}` }];
  await stage.create("own-url", { ...by("overridden"), extraEnv });
  await stage.untilRegistered("own-url");
  await stage.container("own-url");
  expect(await aliasesOf("own-url")).toBeUndefined();
});
