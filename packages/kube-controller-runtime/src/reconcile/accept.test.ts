import { expect, test } from "vitest";
import { stored } from "../../testing/stored.ts";
import { stubClient } from "../../testing/stub-client.ts";
import { Widget, type WidgetStatus } from "../../testing/widget.ts";
import type { RunContext } from "../index.ts";
import { accept, isNew } from "./accept.ts";

test.each<[string, WidgetStatus | undefined, boolean]>([
  ["no status", undefined, true],
  ["an empty status", {}, true],
  ["a status of an earlier operator", { phase: "Ready" }, false],
])("whether an object with %s is new", (_, status, expected) => {
  const object = stored<Widget>(status ? { status } : {});
  expect(isNew(object)).toBe(expected);
  expect(isNew(stored(object, { deletionTimestamp: "2026-01-01T00:00:00Z" }))).toBe(false);
});

test("a new object gets a first status, in one write that observes no generation", async () => {
  const written: { status?: WidgetStatus }[] = [];
  const client = stubClient({
    patchStatus: async (_kind: unknown, _ref: unknown, patch: object) => {
      written.push(patch);
      return stored<Widget>(patch);
    },
  });
  const clock = { now: () => Date.UTC(2026, 0, 1) };
  const object = stored<Widget>({}, { generation: 3 });
  await accept(Widget, { phase: "Pending" })(object, {
    client,
    clock,
  } as unknown as RunContext);
  expect(written).toMatchObject([
    { status: { phase: "Pending", conditions: [{ type: "Ready", status: "False", reason: "Pending" }] } },
  ]);
  expect(written[0]?.status?.observedGeneration).toBeUndefined();
});
