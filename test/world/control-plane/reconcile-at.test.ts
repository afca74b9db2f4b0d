import { afterEach, beforeEach, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { type ControlPlaneStage, openControlPlaneStage } from "./stage.ts";

let stage: ControlPlaneStage;
beforeEach(async () => {
  stage = await openControlPlaneStage("request");
});
afterEach(() => stage[Symbol.asyncDispose]());

const request = (at: string) =>
  stage.person.mergePatch(CoderControlPlane, stage.ref("coder"), {
    metadata: { annotations: { "coder.com/reconcile-at": at } },
  });

test("coder.com/reconcile-at ends the pause after a failed database at once, each time that it changes", async () => {
  stage.tokens.isDown = true;
  await stage.serve("coder");
  await stage.untilCondition("coder", "OperatorAccessReady", { reason: "DatabaseUnreachable" });
  await stage.timePasses(1_000);
  for (const at of ["1", "2"]) {
    const { asked } = stage.tokens;
    await request(at);
    await stage.timePasses(1);
    expect(stage.tokens.asked).toBe(asked + 1);
    await request(at);
    await stage.timePasses(1);
    expect(stage.tokens.asked).toBe(asked + 1);
  }
});

test("coder.com/reconcile-at has the token checked at coderd although that is not due", async () => {
  const coderd = await stage.serve("coder");
  await stage.untilCondition("coder", "EntitlementsKnown", { status: "True" });
  await stage.untilIdle();
  const before = coderd.calls.length;
  await request("2026-01-01T00:00:00Z");
  await stage.timePasses(1);
  expect(coderd.calls.slice(before).map(({ request }) => request)).toContain("GET /api/v2/users/me");
});
