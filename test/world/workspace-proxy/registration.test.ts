import { Deployment, findCondition, Ingress, Secret, Service } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SimulatedProxy } from "../../../lab/coderd/deployment.ts";
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
  stage = await openProxyStage(new MemoryWorld(), "registration");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const changes = /^(POST|PATCH|DELETE) /;

/** Plays the health checks of a coderd that has one proxy. */
function fares({ deployment }: Coderd, status: SimulatedProxy["status"], errors: string[] = []): void {
  for (const proxy of deployment.proxies) Object.assign(proxy, { status, errors });
}

test("a session token that ends within two weeks is reported, until there is another", async () => {
  const coderd = await stage.coderd("ending");
  const endsAt = stage.clock.now() + 10 * 24 * 60 * 60_000;
  const token = "endingsoon-0123456789abcdefghijkl";
  coderd.accounts.add(token, { owner: true, expiresAt: endsAt });
  await stage.putToken("ending-session", token);
  const spec = bootstrap({ ...coderd, credentials: "ending-session" });
  await stage.create("ending", spec);
  const day = new Date(endsAt).toISOString().slice(0, 10);
  const reason = "TokenExpiresSoon";
  const { message } = await stage.untilCondition("ending", "CredentialsReady", { status: "True", reason });
  expect(message).toContain(`"ending-session" expires on ${day}`);
  expect(await stage.untilEvent("ending", reason)).toBe(message);
  expect((await stage.untilRegistered("ending")).bootstrapTokenExpires).toContain(day);
  await stage.change("ending", bootstrap(coderd));
  await stage.untilCondition("ending", "CredentialsReady", { status: "True", reason: "TokenFound" });
});

describe("a proxy that is registered by URL and session token", () => {
  test("has a record at coderd, its token in a Secret, pods, a Service and a full status", async () => {
    const coderd = await stage.coderd("full");
    await stage.create("full", bootstrap(coderd, { displayName: "Full", icon: "/emojis/1f30d.png" }));
    const token = await stage.untilTokenWorks(coderd, "full-proxy-token");
    expect(coderd.deployment.proxies).toMatchObject([
      { name: "full", displayName: "Full", icon: "/emojis/1f30d.png", token },
    ]);
    expect(await stage.untilRegistered("full")).toMatchObject({
      registered: true,
      proxyID: coderd.deployment.proxies[0]?.id,
      proxyName: "full",
      coderURL: coderd.url,
      proxyTokenSecretRef: { name: "full-proxy-token", key: "token" },
      health: "unregistered",
      phase: "Pending",
      readyReplicas: 0,
    });
    expect((await stage.get(Service, "wsproxy-full")).spec?.ports).toMatchObject([
      { port: 80, targetPort: 3001 },
    ]);
    expect(await stage.untilEvent("full", "Registered")).toContain(`"full" at ${coderd.url}`);
    const { metadata } = await stage.get(CoderWorkspaceProxy, "full");
    expect(metadata.finalizers).toEqual(["coder.com/workspace-proxy-cleanup"]);
  });

  test("runs the proxy, and not the server that the image's entrypoint would start", async () => {
    const entrypoint = ["/opt/coder", "server"];
    const coderd = await stage.coderd("argv");
    await stage.create("argv", { ...bootstrap(coderd), derpOnly: true, extraArgs: ["--verbose"] });
    const { command, args = [], env } = await stage.container("argv");
    // A container's command takes the place of the entrypoint; its arguments follow either.
    expect([...(command ?? entrypoint), ...args]).toEqual([
      ...["/opt/coder", "wsproxy", "server"],
      ...["--http-address=0.0.0.0:3001", "--derp-only", "--verbose"],
    ]);
    expect(env).toEqual([
      { name: "CODER_PRIMARY_ACCESS_URL", value: coderd.url },
      {
        name: "CODER_PROXY_SESSION_TOKEN",
        valueFrom: { secretKeyRef: { name: "argv-proxy-token", key: "token" } },
      },
      { name: "CODER_ACCESS_URL", value: `http://wsproxy-argv.${stage.namespace}.svc.cluster.local` },
    ]);
  });

  test("is exposed as the spec says, and reports that to coderd", async () => {
    const coderd = await stage.coderd("exposed");
    const ingress = {
      host: "au.example.com",
      wildcardHost: "*.au.example.com",
      tls: { secretName: "au-tls" },
    };
    await stage.create("exposed", { ...bootstrap(coderd), expose: { ingress } });
    const { env } = await stage.container("exposed");
    expect(env?.slice(2)).toEqual([
      { name: "CODER_ACCESS_URL", value: "https://au.example.com" },
      { name: "CODER_WILDCARD_ACCESS_URL", value: "*.au.example.com" },
    ]);
    await stage.untilCondition("exposed", "ExposureReady", { status: "True", reason: "Applied" });
    const { spec } = await stage.get(Ingress, "wsproxy-exposed");
    expect(spec?.rules?.map(({ host }) => host)).toEqual(["au.example.com", "*.au.example.com"]);
    await stage.change("exposed", { expose: null });
    await stage.untilGone(Ingress, "wsproxy-exposed");
  });

  test("is registered once: not again by later runs, a restart, or a clean memory", async () => {
    const coderd = await stage.coderd("once");
    await stage.create("once", bootstrap(coderd));
    const token = await stage.untilTokenWorks(coderd, "once-proxy-token");
    await stage.untilRegistered("once");
    await stage.change("once", { replicas: 2 });
    await stage.eventually(async () =>
      expect((await stage.get(Deployment, "wsproxy-once")).spec?.replicas).toBe(2),
    );
    await stage.restart();
    await stage.change("once", { replicas: 3 });
    await stage.untilStatus("once", { observedGeneration: 3, registered: true });
    expect(coderd.deployment.count(changes)).toBe(1);
    expect(await stage.token("once-proxy-token")).toBe(token);
  });

  test("asks coderd about once a minute", async () => {
    const coderd = await stage.coderd("calm");
    await stage.create("calm", bootstrap(coderd));
    await stage.untilRegistered("calm");
    await stage.markReady("wsproxy-calm");
    Object.assign(coderd.deployment.proxies[0] ?? {}, { status: "ok" });
    await stage.untilStatus("calm", { phase: "Ready", readyReplicas: 1, health: "ok" });
    const before = coderd.deployment.count();
    await stage.change("calm", { replicas: 2 });
    await stage.untilStatus("calm", { observedGeneration: 2 });
    expect(coderd.deployment.count()).toBe(before);
    const { resourceVersion } = (await stage.get(CoderWorkspaceProxy, "calm")).metadata;
    await stage.timePasses(60_000);
    await stage.eventually(() => expect(coderd.deployment.count()).toBe(before + 2));
    expect((await stage.get(CoderWorkspaceProxy, "calm")).metadata.resourceVersion).toBe(resourceVersion);
  });

  test("stays ready when only the number of its pods changes", async () => {
    const coderd = await stage.coderd("grown");
    await stage.create("grown", bootstrap(coderd));
    await stage.untilRegistered("grown");
    await stage.markReady("wsproxy-grown");
    fares(coderd, "ok");
    await stage.untilCondition("grown", "Ready", { status: "True" });
    await stage.change("grown", { replicas: 2 });
    await stage.untilCondition("grown", "Ready", { status: "True", observedGeneration: 2 });
    const { status } = await stage.get(CoderWorkspaceProxy, "grown");
    const { lastTransitionTime = "" } = findCondition(status?.conditions, "Ready") ?? {};
    await stage.timePasses(60_000);
    const later = (await stage.get(CoderWorkspaceProxy, "grown")).status?.conditions;
    expect(findCondition(later, "Ready")).toMatchObject({ status: "True", lastTransitionTime });
  });

  test("follows the spec in name, display name and icon without a new token", async () => {
    const coderd = await stage.coderd("renamed");
    await stage.create("renamed", bootstrap(coderd));
    const token = await stage.untilTokenWorks(coderd, "renamed-proxy-token");
    await stage.untilRegistered("renamed");
    await stage.change("renamed", { bootstrap: { proxyName: "au", displayName: "Australia" } });
    await stage.untilStatus("renamed", { proxyName: "au" });
    expect(coderd.deployment.proxies).toMatchObject([{ name: "au", displayName: "Australia", token }]);
    expect(await stage.untilEvent("renamed", "ProxyUpdated")).toContain('"au"');
  });

  test("is registered at another coderd when the spec names one, and says what it leaves behind", async () => {
    const [first, second] = [await stage.coderd("first"), await stage.coderd("second")];
    await stage.create("emigrant", bootstrap(first));
    const before = await stage.untilTokenWorks(first, "emigrant-proxy-token");
    await stage.untilRegistered("emigrant");
    await stage.change("emigrant", bootstrap(second));
    await stage.untilTokenWorks(second, "emigrant-proxy-token");
    await stage.untilStatus("emigrant", { coderURL: second.url, registered: true });
    expect(first.deployment.proxies).toMatchObject([{ token: before }]);
    expect(await stage.untilEvent("emigrant", "LeftBehind")).toContain(first.url);
    await stage.eventually(async () =>
      expect((await stage.container("emigrant")).env?.[0]?.value).toBe(second.url),
    );
  });

  test("moves its token to a Secret of another name", async () => {
    const coderd = await stage.coderd("moved");
    await stage.create("moved", bootstrap(coderd));
    const token = await stage.untilTokenWorks(coderd, "moved-proxy-token");
    await stage.untilRegistered("moved");
    await stage.change("moved", { bootstrap: { generatedTokenSecretName: "elsewhere" } });
    await stage.untilStatus("moved", { proxyTokenSecretRef: { name: "elsewhere" } });
    expect(await stage.token("elsewhere")).toBe(token);
    await stage.untilGone(Secret, "moved-proxy-token");
    await stage.eventually(async () =>
      expect((await stage.container("moved")).env?.[1]?.valueFrom?.secretKeyRef?.name).toBe("elsewhere"),
    );
  });
});

describe("health", () => {
  test("is what coderd says, with its words, and Ready follows it", async () => {
    const coderd = await stage.coderd("health");
    await stage.create("health", bootstrap(coderd));
    await stage.untilRegistered("health");
    await stage.markReady("wsproxy-health");
    await stage.untilCondition("health", "Ready", { status: "False", reason: "NotReported" });
    fares(coderd, "ok");
    await stage.timePasses(5_000);
    await stage.untilStatus("health", { health: "ok", phase: "Ready" });
    await stage.untilCondition("health", "Ready", { status: "True", reason: "Serving" });

    const errors = ["read tcp 10.0.0.1:51234->10.0.0.2:443: connection reset"];
    fares(coderd, "unreachable", errors);
    await stage.timePasses(60_000);
    const { message } = await stage.untilCondition("health", "Healthy", { reason: "Unreachable" });
    expect(message).toContain("read tcp 10.0.0.1->10.0.0.2:443: connection reset");
    expect(await stage.untilEvent("health", "Unreachable")).toBe(message);
  });

  test("is looked at soon after it changed, and less and less often while it does not", async () => {
    const coderd = await stage.coderd("sick");
    await stage.create("sick", bootstrap(coderd));
    await stage.untilRegistered("sick");
    const looks = () => coderd.deployment.count("GET /api/v2/workspaceproxies");
    let before = looks();
    for (const ms of [5_000, 5_000, 10_000, 20_000, 40_000, 60_000]) {
      await stage.timePasses(ms - 2_000);
      expect(looks()).toBe(before);
      await stage.timePasses(2_000);
      await stage.eventually(() => expect(looks()).toBe(before + 1));
      before++;
    }
  });
});
