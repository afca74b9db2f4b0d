import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { SlowBuilds } from "./support/slow-builds.ts";
import { CONTROL_PLANE, IMAGE, type Observed, SCHEMA, Upgrades } from "./support/upgrades.ts";
import { Workspaces } from "./support/workspaces.ts";

/** Beyond the migration and the end of the old version: the start of a new pod, and its probes. 3 s on an idle machine. */
const MAX_DOWN_MS = 5_000;
/** The duration of the migration on an idle machine; with other work to do, everything else takes longer in proportion. */
const IDLE_MIGRATION_MS = 1_200;
const STAGES = [
  ...[
    "Preflight",
    "Draining",
    "ScalingDown",
    "Migrating",
    "Verifying",
    "ScalingOut",
    "Followers",
    "Completed",
  ],
];

describe.runIf(inject("place")?.coder)("Coder 2.26.0 with two replicas in real pods", () => {
  let upgrades: Upgrades;
  beforeAll(async () => {
    upgrades = await Upgrades.open("upgrade");
    for (const object of [CONTROL_PLANE, "coderprovisioner/linux"])
      console.info(await readyAfter(upgrades, object));
  });
  beforeEach(({ onTestFailed }) => onTestFailed(async () => console.error(await upgrades?.platform.story())));
  afterAll(() => upgrades?.[Symbol.asyncDispose]());

  test("continues to serve from the same pods when the new image can't be pulled", async () => {
    const pods = await upgrades.podNames();
    const { served } = await upgrades.observe(async () => {
      await upgrades.platform.change(CONTROL_PLANE, { image: `${IMAGE.current}-missing` });
      const { message } = await upgrades.untilCondition("Upgrading", {
        status: "False",
        reason: "ImagePullFailed",
      });
      expect(message).toContain(`${IMAGE.current}-missing`);
      await upgrades.platform.change(CONTROL_PLANE, { image: IMAGE.older });
      await upgrades.untilCondition("Ready", { status: "True" });
    });
    expect(served).toMatchObject({ versions: ["v2.26.0"], downMs: 0 });
    expect(await upgrades.podNames()).toEqual(pods);
  });

  test("becomes 2.36.1 with all its data, at most 5 s without service beyond its migration and the end of the old one", async () => {
    const { platform } = upgrades;
    const workspaces = new Workspaces(platform);
    const builds = new SlowBuilds(platform);
    await platform.admin.invite({ email: "dev@example.com", username: "dev", name: "Dev" });
    await workspaces.pushTemplate("pod", "pod", { tags: { pool: "linux" } });
    await builds.pushTemplate("slow", { seconds: 1, pool: "linux" });
    await workspaces.create("mine", "pod");
    await workspaces.ssh("mine", "echo kept > /home/coder/note");

    const observed = await upgrades.observe(async () => {
      await platform.change(CONTROL_PLANE, { image: IMAGE.current });
      await upgrades.untilStage("Completed");
      await upgrades.untilCondition("Ready", { status: "True" });
    });
    const { served, schemas, migrationMs, endingMs, oldOnNewSchema } = observed;
    console.info(await storyOf(upgrades, observed));

    await upgrades.expectUpgraded();
    expect(schemas).toEqual([SCHEMA.older, SCHEMA.current]);
    expect(oldOnNewSchema).toEqual([]);
    expect(served.versions).toEqual(["v2.26.0", "v2.36.1"]);
    const slowness = Math.max(1, migrationMs / IDLE_MIGRATION_MS);
    expect(served.downMs - migrationMs - endingMs).toBeLessThanOrEqual(MAX_DOWN_MS * slowness);
    const toCurrent = new RegExp(`to ${served.versions.at(-1)}\\b(?!-missing)`);
    for (const stage of STAGES)
      expect(
        (await upgrades.eventsOf(`Upgrade${stage}`)).filter((each) => toCurrent.test(each)),
      ).toHaveLength(1);
    const { users } = await platform.admin.get<{ users: { username: string }[] }>("/api/v2/users");
    expect(users.map(({ username }) => username)).toEqual(expect.arrayContaining(["admin", "dev"]));
    expect(await workspaces.ssh("mine", "cat /home/coder/note")).toBe("kept");
    await builds.start("after", "slow");
    await builds.untilSucceeded(["mine", "after"]);
  });
});

/** How long an object took from its creation to its last transition to Ready. */
async function readyAfter(upgrades: Upgrades, object: string): Promise<string> {
  const { metadata } = await upgrades.seen(object);
  const { lastTransitionTime } = await upgrades.untilCondition("Ready", { status: "True" }, object);
  const ms = Date.parse(lastTransitionTime) - Date.parse(metadata.creationTimestamp);
  return `${object}: Ready after ${ms / 1_000} s`;
}

/** What the how-to page on upgrades quotes. */
async function storyOf(upgrades: Upgrades, { served, migrationMs, endingMs }: Observed): Promise<string> {
  const { platform } = upgrades;
  const events = await platform.cluster.kubectl([
    ...["get", "events", `--namespace=${platform.namespace}`, "--field-selector=involvedObject.name=coder"],
    ...["--sort-by=.firstTimestamp", "--output=custom-columns=REASON:.reason,MESSAGE:.message"],
  ]);
  const figures = `upgrade: ${served.downMs} ms without service: ${endingMs} ms until the old version ended, ${migrationMs} ms of migration`;
  return [figures, JSON.stringify((await upgrades.seen()).status?.upgrade, undefined, 1), events].join("\n");
}
