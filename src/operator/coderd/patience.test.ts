import { blocked } from "kube-controller-runtime";
import { expect, test } from "vitest";
import type { CoderFailure } from "../../coder/failure.ts";
import { Patience } from "./patience.ts";

const message = "";
const transient: CoderFailure = { kind: "transient", message };
const rateLimited: CoderFailure = { kind: "rateLimited", message };
const result = blocked("CoderdUnreachable", "no answer");

const failedAt = (now: number, failure: CoderFailure = transient, patience = new Patience()) => {
  patience.failed(failure, { inputs: "token A", now, random: () => 1, result });
  return patience;
};

test("what was said is said again, with the rest of the wait, until it is time to try", () => {
  const patience = failedAt(1_000);
  expect(patience.recall("token A", 11_000)).toEqual({ ...result, requeueAfterMs: 20_000 });
  expect(patience.recall("token A", 31_000)).toBeUndefined();
});

test("a change of what the attempt depended on is worth another at once", () => {
  expect(failedAt(0).recall("token B", 1)).toBeUndefined();
});

test("a rate limit is waited out whatever changes", () => {
  expect(failedAt(0, rateLimited).recall("token B", 1)).toMatchObject({ requeueAfterMs: 1_999 });
});

test("success ends it, and the next rate limit starts from the shortest wait", () => {
  const patience = failedAt(0, rateLimited, failedAt(0, rateLimited));
  expect(patience.recall("token A", 0)).toMatchObject({ requeueAfterMs: 4_000 });
  patience.succeeded();
  expect(patience.recall("token A", 0)).toBeUndefined();
  expect(failedAt(0, rateLimited, patience).recall("token A", 0)).toMatchObject({ requeueAfterMs: 2_000 });
});
