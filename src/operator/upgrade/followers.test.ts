import { expect, test } from "vitest";
import type { UpgradeStage, UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import { followedImage } from "./followers.ts";
import { isReplacingPods } from "./stages.ts";

const at = (stage: UpgradeStage, follower?: string): UpgradeStatus => ({
  ...{ stage, from: "old", to: "new", startedAt: "", since: "" },
  ...(follower ? { follower } : {}),
});
const safe = { image: "new", upgrade: { strategy: "Safe" } } as const;
const rolling = { image: "new", upgrade: { strategy: "Rolling" } } as const;

test.each([
  ["before the control plane was reported on, the spec counts", safe, {}, "new"],
  ["an image that the control plane was not brought to yet is not followed", safe, { image: "old" }, "old"],
  [
    "no image is followed while coderd is being upgraded",
    safe,
    { image: "old", upgrade: at("Migrating") },
    "old",
  ],
  [
    "no image is followed before the turn of the follower has come",
    safe,
    { image: "new", upgrade: at("Followers", "provisioner/a") },
    "old",
  ],
  [
    "the image is followed when the turn has come",
    safe,
    { image: "new", upgrade: at("Followers", "provisioner/b") },
    "new",
  ],
  [
    "the image is still followed when the turn is another follower's",
    safe,
    { image: "new", upgrade: at("Followers", "workspaceproxy/c") },
    "new",
  ],
  ["the image is still followed after the upgrade", safe, { image: "new", upgrade: at("Completed") }, "new"],
  ["the image before is followed after a rollback", safe, { image: "old", upgrade: at("RolledBack") }, "old"],
  ["with Rolling the spec counts at once", rolling, { image: "old" }, "new"],
])("%s", (_case, settings, status, image) => {
  expect(followedImage({ settings, status }, "provisioner/b")).toBe(image);
});

test("an upgrade holds the queue only while it replaces pods", () => {
  const holding: readonly UpgradeStage[] = [
    "ScalingDown",
    "Migrating",
    "Verifying",
    "ScalingOut",
    "Followers",
    "Stuck",
  ];
  for (const stage of holding) expect(isReplacingPods(at(stage)), stage).toBe(true);
  const idle: readonly UpgradeStage[] = ["Preflight", "Draining", "BackingUp", "Completed", "RolledBack"];
  for (const stage of idle) expect(isReplacingPods(at(stage)), stage).toBe(false);
  expect(isReplacingPods(undefined)).toBe(false);
});
