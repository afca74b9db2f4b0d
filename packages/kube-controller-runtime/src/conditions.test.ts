import { describe, expect, test } from "vitest";
import { type Condition, findCondition, setCondition } from "./conditions.ts";

const now = Date.UTC(2026, 0, 2, 3, 4, 5);
const ready: Condition = {
  type: "Ready",
  status: "True",
  reason: "Done",
  message: "all is well",
  observedGeneration: 1,
  lastTransitionTime: "2026-01-01T00:00:00Z",
};

describe("setCondition", () => {
  test("appends a condition of a new type with the present time", () => {
    const next = { status: "False", reason: "Missing", message: "m", observedGeneration: 2, now } as const;
    expect(setCondition([ready], "Served", next)).toEqual([
      ready,
      {
        type: "Served",
        status: "False",
        reason: "Missing",
        message: "m",
        observedGeneration: 2,
        lastTransitionTime: "2026-01-02T03:04:05Z",
      },
    ]);
  });

  test("moves the transition time when the status changes", () => {
    const next = { status: "False", reason: "Broken", message: "m", observedGeneration: 1, now } as const;
    const [changed] = setCondition([ready], "Ready", next);
    expect(changed?.lastTransitionTime).toBe("2026-01-02T03:04:05Z");
  });

  test("keeps the transition time when only reason, message or generation change", () => {
    const next = { status: "True", reason: "Other", message: "m", observedGeneration: 2, now } as const;
    const [changed] = setCondition([ready], "Ready", next);
    expect(changed).toMatchObject({ reason: "Other", lastTransitionTime: "2026-01-01T00:00:00Z" });
  });

  test("gives back the same list when nothing changes", () => {
    const list = [ready];
    const next = {
      status: "True",
      reason: "Done",
      message: "all is well",
      observedGeneration: 1,
      now,
    } as const;
    expect(setCondition(list, "Ready", next)).toBe(list);
  });

  test("cuts a message to less than the API server stores", () => {
    const next = { status: "True", reason: "Long", message: "x".repeat(40_000), now } as const;
    expect(setCondition([], "Ready", next)[0]?.message).toHaveLength(8_193);
  });

  test("masks what a server made a step quote", () => {
    const message = "the server says postgres://u:hunter2@db/coder";
    const next = { status: "False", reason: "Refused", message, now } as const;
    const once = setCondition([], "Ready", next);
    expect(once[0]?.message).toBe("the server says postgres://[redacted]");
    expect(setCondition(once, "Ready", next)).toBe(once);
  });
});

test("findCondition finds by type and tolerates a missing list", () => {
  expect(findCondition([ready], "Ready")).toBe(ready);
  expect(findCondition(undefined, "Ready")).toBeUndefined();
});
