import { describe, expect, test } from "vitest";
import { type NoticeFacts, type NoticePlan, planNotice } from "./plan.ts";

const announcing = { state: "Announcing", text: "soon" } as const;
const announced = { state: "Announced", text: "soon" } as const;
const skipped = { state: "Skipped", message: "why" } as const;
const read = { do: "read" } as const;
const rest = { do: "rest" } as const;
const gone = { do: "record", record: undefined } as const;

type Row = readonly [string, Partial<NoticeFacts>, NoticePlan];

function planOf(phase: NoticeFacts["phase"], facts: Partial<NoticeFacts>): NoticePlan {
  return planNotice({ phase, record: undefined, text: "soon", ...facts });
}

describe("before the service stops", () => {
  test.each<Row>([
    ["coderd is asked first", {}, read],
    ["the intention is recorded before the act", { seen: "absent" }, { do: "record", record: announcing }],
    ["what was recorded is done", { record: announcing, seen: "absent" }, { do: "announce" }],
    [
      "what an earlier process did is not done again",
      { record: announcing, seen: "there" },
      { do: "record", record: announced },
    ],
    ["what is there is not asked about again", { record: announced }, rest],
    [
      "what was there before is left alone",
      { seen: "there" },
      { do: "record", record: { state: "Skipped" } },
    ],
    [
      "without the feature nothing is done",
      { seen: "notEntitled" },
      { do: "record", record: { state: "Skipped", message: "The license does not include the feature." } },
    ],
    [
      "without access nothing is done",
      { obstacle: "no token" },
      { do: "record", record: { state: "Skipped", message: "no token" } },
    ],
    ["an intention is not forgotten without access", { record: announcing, obstacle: "no token" }, rest],
    ["an intention is not forgotten without the feature", { record: announcing, seen: "notEntitled" }, rest],
    ["what is skipped stays so", { record: skipped }, rest],
  ])("%s", (_, facts, plan) => expect(planOf("announce", facts)).toEqual(plan));
});

describe("after the upgrade", () => {
  test.each<Row>([
    ["there is nothing to do where nothing was announced", {}, rest],
    ["what was skipped is forgotten", { record: skipped }, gone],
    ["coderd is asked first", { record: announced }, read],
    ["what is there is put back", { record: announced, seen: "there" }, { do: "putBack" }],
    ["what may have been done is put back", { record: announcing, seen: "there" }, { do: "putBack" }],
    ["what people have put back is forgotten", { record: announced, seen: "absent" }, gone],
    ["it waits for access", { record: announced, obstacle: "no token" }, rest],
    [
      "it waits for the feature, without which coderd hides it",
      { record: announced, seen: "notEntitled" },
      rest,
    ],
  ])("%s", (_, facts, plan) => expect(planOf("putBack", facts)).toEqual(plan));
});

test("while coderd is unreachable nothing changes", () => {
  expect(planOf("keep", {})).toEqual(rest);
  expect(planOf("keep", { record: announcing })).toEqual(rest);
});
