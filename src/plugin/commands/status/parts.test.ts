import { expect, test } from "vitest";
import { poolReport } from "./parts.ts";

const poolWith = (pendingBuilds: number | undefined) =>
  poolReport(
    {
      metadata: { name: "linux", uid: "u", resourceVersion: "1" },
      spec: { controlPlaneRef: { name: "coder" }, autoscaling: { maxReplicas: 5 } },
      status: pendingBuilds === undefined ? {} : { pendingBuilds },
    },
    { pods: [], queue: undefined, now: 0 },
  );

test.each([0, 4])("%i waiting builds of a pool are what its status says", (pending) => {
  expect(poolWith(pending)).toMatchObject({ pending, limits: "1-5", busy: 0, idle: 0 });
});

test("waiting builds that were not counted are not shown as a number", () => {
  expect(poolWith(undefined)).not.toHaveProperty("pending");
});
