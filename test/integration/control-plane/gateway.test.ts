import { CoreEvent, controllerOf, Ingress, type KubeObject, kind as kindOf } from "kube-controller-runtime";
import { type ClusterAccess, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HTTPRoute } from "../../../src/operator/workload/exposure/gateway.ts";
import { sharedClusterWithControllers } from "../../support/cluster/shared.ts";
import { httpRouteDefinition } from "../../support/gateway-api.ts";
import { openStage, type Stage } from "./stage.ts";

const host = "coder.example.com";
const gateway = { host, parentRefs: [{ name: "public" }] };
const TIME_LIMIT = { withinMs: 30_000 };
const HOUR_MS = 60 * 60 * 1_000;

let cluster: ClusterAccess;
let stage: Stage;
beforeAll(async () => {
  // The only file that installs the Gateway API there.
  cluster = await sharedClusterWithControllers();
  stage = await openStage(cluster, "gateway");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const StatefulSet = kindOf<KubeObject>("apps/v1", { kind: "StatefulSet", plural: "statefulsets" });

function statefulSet(name: string): KubeObject {
  const labels = { app: name };
  const template = {
    metadata: { labels },
    spec: { containers: [{ name, image: "example.invalid/rival:1" }] },
  };
  const spec = { selector: { matchLabels: labels }, serviceName: name, template };
  return { metadata: stage.ref(name), spec } as KubeObject;
}

// One story in order: each test begins where the one before it ended.
describe("a cluster without the Gateway API", () => {
  test("gets a condition that says so and one event, and everything else works", async () => {
    await stage.create("coder", { expose: { gateway } });
    const missing = { status: "False", reason: "GatewayAPIMissing" } as const;
    const { message } = await stage.untilCondition("coder", "ExposureReady", missing);
    expect(message).toContain("install the Gateway API");
    await stage.untilCondition("coder", "ServiceReady", { status: "True" });
    await stage.timePasses(HOUR_MS);
    await stage.touch("coder", "an hour later");
    const { items } = await stage.person.list(CoreEvent, { namespace: stage.namespace });
    const reported = items.filter(({ reason }) => reason === "GatewayAPIMissing");
    expect(reported).toEqual([expect.objectContaining({ type: "Warning", count: 1 })]);
  });

  test("keeps an Ingress for as long as the route that shall replace it can't be made", async () => {
    await stage.create("moving", { expose: { ingress: { host } } });
    await stage.settled("moving");
    await stage.change("moving", { expose: { ingress: null, gateway } });
    await stage.untilCondition("moving", "ExposureReady", { reason: "GatewayAPIMissing" });
    expect(await stage.exists(Ingress, "moving")).toBe(true);
  });

  test("gets the route after the installation, without a restart", async () => {
    await cluster.apply(httpRouteDefinition);
    await eventually(() => stage.get(HTTPRoute, "coder"), TIME_LIMIT);
    await stage.untilCondition("coder", "ExposureReady", { status: "True" });
    await stage.untilGone(Ingress, "moving");
    expect(await stage.exists(HTTPRoute, "moving")).toBe(true);
  });
});

/** Events are written after what they report. */
async function untilEmitted(name: string, reason: string): Promise<void> {
  await eventually(async () => {
    expect((await stage.events(name)).map((event) => event.reason)).toContain(reason);
  }, TIME_LIMIT);
}

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

  test("that is edited or deleted by another client is restored", async () => {
    await stage.person.mergePatch(HTTPRoute, stage.ref("full"), {
      spec: { hostnames: ["elsewhere.example.com"] },
    });
    await eventually(
      async () => expect((await stage.get(HTTPRoute, "full")).spec?.hostnames[0]).toBe(host),
      TIME_LIMIT,
    );
    await untilEmitted("full", "Reverted");
    await stage.person.delete(HTTPRoute, stage.ref("full"));
    await eventually(() => stage.get(HTTPRoute, "full"), TIME_LIMIT);
  });

  test("causes no writes once it exists, although the API server adds defaults to it", async () => {
    await stage.create("calm", { expose: { gateway } });
    await stage.settled("calm");
    // While pods roll out, their numbers are news.
    await eventually(async () => {
      await stage.cluster.markPodsReady(stage.namespace, "app.kubernetes.io/instance=calm");
      const { status } = await stage.controlPlane("calm");
      expect(status?.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "True" }));
    }, TIME_LIMIT);
    await untilEmitted("calm", "Serving");
    await stage.untilIdle();
    const { length } = await stage.writes();
    const status = { parents: [{ controllerName: "example.com/gateway", parentRef: { name: "public" } }] };
    await stage.person.patchStatus(HTTPRoute, stage.ref("calm"), { status });
    await stage.timePasses(HOUR_MS);
    await stage.touch("calm", "an hour later");
    expect((await stage.writes()).slice(length)).toEqual([]);
  });

  test("is replaced by an Ingress, and an Ingress by a route", async () => {
    await stage.change("full", { expose: { gateway: null, ingress: { host } } });
    await stage.untilGone(HTTPRoute, "full");
    expect(await stage.exists(Ingress, "full")).toBe(true);
    await stage.change("full", { expose: { ingress: null, gateway } });
    await stage.untilGone(Ingress, "full");
    expect(await stage.exists(HTTPRoute, "full")).toBe(true);
  });

  test("is deleted with spec.expose", async () => {
    await stage.change("full", { expose: null });
    await stage.untilGone(HTTPRoute, "full");
  });

  test("of the same name that another controller owns is not changed, and is named", async () => {
    // There has to be one: otherwise the garbage collector takes the route along.
    const { apiVersion, kind } = StatefulSet;
    const { uid } = (await stage.person.create(StatefulSet, statefulSet("rival"))).metadata;
    const ownerReferences = [{ apiVersion, kind, name: "rival", uid, controller: true }];
    const rival = await stage.person.create(HTTPRoute, {
      metadata: { ...stage.ref("contested"), ownerReferences },
      spec: { parentRefs: [], hostnames: [], rules: [] },
    });
    await stage.create("contested", { expose: { gateway } });
    const { message } = await stage.untilCondition("contested", "ExposureReady", {
      reason: "HTTPRouteNotOurs",
    });
    expect(message).toContain('StatefulSet "rival"');
    const { metadata } = await stage.get(HTTPRoute, "contested");
    expect(metadata.resourceVersion).toBe(rival.metadata.resourceVersion);
  });
});

test("a Gateway API that is uninstalled and installed again is lost and found without a restart", async () => {
  await stage.untilCondition("coder", "ExposureReady", { status: "True" });
  await cluster.kubectl(["delete", "crd", "httproutes.gateway.networking.k8s.io"]);
  await stage.untilCondition("coder", "ExposureReady", { status: "False", reason: "GatewayAPIMissing" });
  await cluster.apply(httpRouteDefinition);
  await eventually(() => stage.get(HTTPRoute, "coder"), TIME_LIMIT);
  await stage.untilCondition("coder", "ExposureReady", { status: "True" });
});
