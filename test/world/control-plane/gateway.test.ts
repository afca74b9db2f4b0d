import { afterEach, beforeEach, expect, test } from "vitest";
import { HTTPRoute, ListenerSet } from "../../../src/operator/workload/exposure/gateway.ts";
import type { MemoryWorld } from "../../support/world/memory.ts";
import { type ControlPlaneStage, openControlPlaneStage } from "./stage.ts";

let stage: ControlPlaneStage;
beforeEach(async () => {
  stage = await openControlPlaneStage("gateway");
});
afterEach(() => stage[Symbol.asyncDispose]());

const api = () => (stage.world as MemoryWorld).api;
const parent = (port: number) => ({ kind: "ListenerSet" as const, name: "coder", port });
const gateway = {
  host: "coder.example.com",
  parentRefs: [parent(443)],
  httpsRedirect: { parentRefs: [parent(80)] },
  listenerSet: {
    parentRef: { name: "public" },
    listeners: [{ name: "http", port: 80, protocol: "HTTP" as const }],
  },
};

test("a ListenerSet and both routes are made once the cluster serves them, and go with the spec", async () => {
  const missing = { status: "False", reason: "GatewayAPIMissing" } as const;
  await stage.serve("coder", { expose: { gateway } });
  await stage.untilCondition("coder", "ExposureReady", missing);
  api().install(HTTPRoute);
  await stage.eventually(async () => {
    const { message } = await stage.untilCondition("coder", "ExposureReady", missing);
    expect(message).toContain("ListenerSet; install Gateway API 1.5");
  });
  api().install(ListenerSet);
  await stage.untilCondition("coder", "ExposureReady", { status: "True" });
  expect((await stage.get(ListenerSet, "coder")).spec?.parentRef).toEqual({ name: "public" });
  expect((await stage.get(HTTPRoute, "coder")).spec?.parentRefs).toEqual([parent(443)]);
  expect((await stage.get(HTTPRoute, "coder-https-redirect")).spec?.parentRefs).toEqual([parent(80)]);
  await stage.change("coder", { expose: { gateway: { httpsRedirect: null, listenerSet: null } } });
  await stage.eventually(async () => {
    expect(await stage.exists(ListenerSet, "coder")).toBe(false);
    expect(await stage.exists(HTTPRoute, "coder-https-redirect")).toBe(false);
  });
  expect(await stage.exists(HTTPRoute, "coder")).toBe(true);
});
