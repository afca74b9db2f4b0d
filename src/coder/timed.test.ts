import { VirtualClock } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import { failed, succeeded } from "./result.ts";
import { type FinishedCall, timed } from "./timed.ts";

test("each call is reported with what it came to and how long it took, and answers as before", async () => {
  const clock = new VirtualClock();
  const reported: FinishedCall[] = [];
  const calls = timed(
    {
      licenses: async (id: number) => {
        await clock.sleep(1_500);
        return succeeded(id);
      },
      entitlements: async () => failed({ kind: "forbidden" }),
      organizations: async () => {
        throw new Error("lost");
      },
    },
    clock,
    (call) => reported.push(call),
  );
  const slow = calls.licenses(7);
  await clock.advance(1_500);
  expect(await slow).toEqual({ ok: true, value: 7 });
  expect(await calls.entitlements()).toEqual({ ok: false, failure: { kind: "forbidden" } });
  await expect(calls.organizations()).rejects.toThrow("lost");
  expect(reported).toEqual([
    { call: "licenses", result: "ok", seconds: 1.5 },
    { call: "entitlements", result: "forbidden", seconds: 0 },
    { call: "organizations", result: "error", seconds: 0 },
  ]);
});
