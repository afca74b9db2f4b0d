import { expect, test } from "vitest";
import { type UpgradeStage, upgradeStages } from "../../src/api/v1alpha1/upgrade.ts";
import { announceStage } from "../../src/operator/upgrade/report.ts";
import { blocks } from "./pages.ts";

const PAGE = "upgrade-coder.md";

/** A time of the upgrade whose status the page shows. */
function timeOf(field: string): string {
  const status = blocks.find(({ page, text }) => page.endsWith(PAGE) && text.includes(`"${field}"`));
  return new RegExp(`"${field}": "([^"]*)"`).exec(status?.text ?? "")?.[1] ?? "";
}

/** What the operator says of a stage of the upgrade that the page shows. */
function eventOf(stage: UpgradeStage): string {
  const lines: string[] = [];
  const next = {
    ...{ stage, from: "coder:v2.26.0", to: "coder:v2.36.1", toVersion: "v2.36.1" },
    ...{ startedAt: timeOf("startedAt"), downSince: timeOf("downSince") },
    ...{ servedAgain: timeOf("servedAgain"), since: timeOf("since") },
  };
  const emit = (_type: string, reason: string, message: string) => lines.push(`${reason} ${message}`);
  announceStage(next, { record: undefined, settings: { strategy: "Safe" } }, { emit });
  return lines.join();
}

test("the events on the page about upgrades are those that the operator emits", () => {
  const shown = blocks.find(({ page, text }) => page.endsWith(PAGE) && text.includes("UpgradePre"));
  const lines = shown?.text.trim().replace(/ {2,}/g, " ").split("\n") ?? [];
  expect(lines).toHaveLength(8);
  const events = new Set(upgradeStages.map(eventOf));
  expect(lines.filter((line) => !events.has(line))).toEqual([]);
});
