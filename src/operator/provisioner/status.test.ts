import type { ConditionState } from "kube-controller-runtime";
import { describe, expect, test } from "vitest";
import { conditionTypes, readiness } from "./status.ts";

const rollingOut: ConditionState = { status: "False", reason: "RollingOut", message: "1 of 2 pods" };
const stalled: ConditionState = { status: "False", reason: "Stalled", message: "not connected" };
const connecting: ConditionState = { status: "False", reason: "Connecting", message: "starting" };

describe("while pods are replaced, Ready", () => {
  test.each([
    ["says what keeps the new daemons away", stalled, stalled],
    ["shows the rollout while daemons start", connecting, rollingOut],
  ])("%s", (_, daemons, expected) => {
    const conditions = new Map([
      [conditionTypes.deployment, rollingOut],
      [conditionTypes.daemons, daemons],
    ]);
    expect(readiness(conditions)).toEqual(expected);
  });
});
