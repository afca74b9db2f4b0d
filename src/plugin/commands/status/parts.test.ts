import { expect, test } from "vitest";
import type { Decision } from "../../../operator/queue/decide.ts";
import { explainDecision } from "../../../operator/queue/explain.ts";
import { poolReport } from "./parts.ts";

test.each([1, 4])("%i waiting builds of a pool are read from the operator's own sentence", (pending) => {
  const pool = { minIdle: 0, min: 1, max: 5 };
  const decision = { pool, pending, replicas: 3, demand: 3, census: { busy: 2 }, cause: "following" };
  const message = explainDecision(decision as unknown as Decision);
  const condition = { type: "ScalingActive", status: "True", reason: "FollowingQueue", message };
  const report = poolReport(
    {
      metadata: { name: "linux", uid: "u", resourceVersion: "1" },
      spec: { controlPlaneRef: { name: "coder" }, autoscaling: { maxReplicas: 5 } },
      status: { conditions: [{ ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" }] },
    },
    [],
  );
  expect(report).toMatchObject({ pending, limits: "1-5", busy: 0, idle: 0 });
});
