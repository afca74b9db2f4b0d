import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HTTPRoute } from "../../../src/operator/shared/gateway.ts";
import { CoreEvent, Ingress } from "../../../src/runtime/kinds.ts";
import { controllerOf } from "../../../src/runtime/owner.ts";
import { type LocalCluster, startCluster } from "../../support/cluster/cluster.ts";
import { eventually } from "../../support/eventually.ts";
import { openStage, type Stage } from "./stage.ts";

const host = "coder.example.com";
const gateway = { host, parentRefs: [{ name: "public" }] };
/** "Within seconds" of the installation: one interval of the operator's look-out, and time to act. */
const SECONDS = { withinMs: 10_000 };
const QUIET_MS = 5_000;

let cluster: LocalCluster;
let stage: Stage;
beforeAll(async () => {
  cluster = await startCluster({ audit: true, operatorInstalled: true });
  stage = await openStage(cluster, "gateway");
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await cluster?.stop();
});

const definition = readFileSync(
  new URL("../../fixtures/gateway-api-httproutes.yaml", import.meta.url),
  "utf8",
);

// One story in order: each test begins where the one before it ended.
describe("a cluster without the Gateway API", () => {
  test("gets a condition that says so, one event, and all the rest of the control plane", async () => {
    await stage.create("coder", { expose: { gateway } });
    const missing = { status: "False", reason: "GatewayAPIMissing" } as const;
    const { message } = await stage.untilCondition("coder", "ExposureReady", missing);
    expect(message).toContain("install the Gateway API");
    await stage.untilCondition("coder", "ServiceReady", { status: "True" });
    await sleep(QUIET_MS);
    const { items } = await stage.person.list(CoreEvent, { namespace: stage.namespace });
    const told = items.filter(({ reason }) => reason === "GatewayAPIMissing");
    expect(told).toEqual([expect.objectContaining({ type: "Warning", count: 1 })]);
  });

  test("keeps an Ingress for as long as the route that shall replace it can't be made", async () => {
    await stage.create("moving", { expose: { ingress: { host } } });
    await stage.settled("moving");
    await stage.change("moving", { expose: { ingress: null, gateway } });
    await stage.untilCondition("moving", "ExposureReady", { reason: "GatewayAPIMissing" });
    expect(await stage.exists(Ingress, "moving")).toBe(true);
  });

  test("gets the route within seconds of the installation, without a restart", async () => {
    await cluster.apply(definition);
    await eventually(() => stage.get(HTTPRoute, "coder"), SECONDS);
    await stage.untilCondition("coder", "ExposureReady", { status: "True" });
    await stage.untilGone(Ingress, "moving");
    expect(await stage.exists(HTTPRoute, "moving")).toBe(true);
  });
});

describe("a route", () => {
  test("has the parents, hosts and backend that the spec says, and belongs to the control plane", async () => {
    const parentRefs = [{ name: "public", namespace: "gateways", sectionName: "https" }, { name: "private" }];
    const wildcardHost = `*.${host}`;
    await stage.create("full", {
      expose: { gateway: { host, wildcardHost, parentRefs } },
      service: { port: 8000 },
    });
    await stage.settled("full");
    const route = await stage.get(HTTPRoute, "full");
    expect(controllerOf(route)?.name).toBe("full");
    expect(route.spec).toMatchObject({
      parentRefs,
      hostnames: [host, wildcardHost],
      rules: [
        {
          matches: [{ path: { type: "PathPrefix", value: "/" } }],
          backendRefs: [{ kind: "Service", name: "full", port: 8000 }],
        },
      ],
    });
  });

  test("that somebody edits or deletes is restored", async () => {
    await stage.person.mergePatch(HTTPRoute, stage.ref("full"), {
      spec: { hostnames: ["elsewhere.example.com"] },
    });
    await eventually(
      async () => expect((await stage.get(HTTPRoute, "full")).spec?.hostnames[0]).toBe(host),
      SECONDS,
    );
    await stage.person.delete(HTTPRoute, stage.ref("full"));
    await eventually(() => stage.get(HTTPRoute, "full"), SECONDS);
  });

  test("causes no writes once it is there, though the API server adds defaults to it", async () => {
    await stage.settled("full");
    const { length } = await stage.writes();
    const status = { parents: [{ controllerName: "example.com/gateway", parentRef: { name: "public" } }] };
    await stage.person.patchStatus(HTTPRoute, stage.ref("full"), { status });
    await sleep(QUIET_MS);
    expect((await stage.writes()).slice(length)).toEqual([]);
  });

  test("gives way to an Ingress, and an Ingress to a route", async () => {
    await stage.change("full", { expose: { gateway: null, ingress: { host } } });
    await stage.untilGone(HTTPRoute, "full");
    expect(await stage.exists(Ingress, "full")).toBe(true);
    await stage.change("full", { expose: { ingress: null, gateway } });
    await stage.untilGone(Ingress, "full");
    expect(await stage.exists(HTTPRoute, "full")).toBe(true);
  });

  test("goes when spec.expose does", async () => {
    await stage.change("full", { expose: null });
    await stage.untilGone(HTTPRoute, "full");
  });

  test("of the same name that another controller owns is left alone and named", async () => {
    const ownerReferences = [
      { apiVersion: "apps/v1", kind: "StatefulSet", name: "rival", uid: "0-1-2-3", controller: true },
    ];
    const rival = await stage.person.create(HTTPRoute, {
      metadata: { ...stage.ref("contested"), ownerReferences },
      spec: { parentRefs: [], hostnames: [], rules: [] },
    });
    await stage.create("contested", { expose: { gateway } });
    const { message } = await stage.untilCondition("contested", "ExposureReady", { reason: "Conflict" });
    expect(message).toContain('StatefulSet "rival"');
    const { metadata } = await stage.get(HTTPRoute, "contested");
    expect(metadata.resourceVersion).toBe(rival.metadata.resourceVersion);
  });
});

test("a Gateway API that is uninstalled and installed again is lost and found without a restart", async () => {
  await stage.untilCondition("coder", "ExposureReady", { status: "True" });
  await cluster.kubectl(["delete", "crd", "httproutes.gateway.networking.k8s.io"]);
  await stage.untilCondition("coder", "ExposureReady", { status: "False", reason: "GatewayAPIMissing" });
  await cluster.apply(definition);
  await eventually(() => stage.get(HTTPRoute, "coder"), SECONDS);
  await stage.untilCondition("coder", "ExposureReady", { status: "True" });
});
