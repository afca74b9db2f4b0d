import { describe, expect, test } from "vitest";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { CrashingOperator } from "../../support/crashing-operator.ts";
import { BROKEN, LATER, NEW, OLD, openUpgradeStage, type UpgradeStage } from "./stage.ts";

const BANNER = "Coder is being upgraded.";
const THEIRS = { enabled: true, message: "Closed on Monday", background_color: "#00ff00" };
const OURS = { enabled: true, message: BANNER, background_color: "#ABB8C3" };
const OF_PEOPLE = { application_name: "Acme", logo_url: "/logo.png", announcement_banners: [THEIRS] };
const upgrade = { announce: { banner: BANNER, pausePrebuilds: true } };
const MINUTE_MS = 60_000;
const APPEARANCE = "PUT /api/v2/appearance";
const PREBUILDS = "PUT /api/v2/prebuilds/settings";

/** A control plane that announces its upgrades, at a coderd that people have set up. */
async function open(spec: object = {}): Promise<UpgradeStage> {
  const stage = await openUpgradeStage();
  await stage.settle({ upgrade, ...spec });
  stage.coderd.appearance = OF_PEOPLE;
  return stage;
}

/** An upgrade that waits for a build. */
async function drain(spec: object = {}) {
  const stage = await open(spec);
  const build = stage.startBuild();
  await stage.change("coder", { image: NEW });
  await stage.untilStage("Draining");
  await stage.eventually(() => expectAnnounced(stage));
  return { stage, build, end: () => (build.status = "succeeded") };
}

async function expectAnnounced(stage: UpgradeStage): Promise<void> {
  const { announcement } = await stage.status("coder");
  expect(announcement).toEqual({
    banner: { state: "Announced", text: BANNER },
    prebuilds: { state: "Announced" },
  });
  expect(stage.coderd.appearance).toEqual({ ...OF_PEOPLE, announcement_banners: [THEIRS, OURS] });
  expect(stage.coderd.arePrebuildsPaused).toBe(true);
}

async function expectAsBefore(stage: UpgradeStage): Promise<void> {
  expect((await stage.status("coder")).announcement).toBeUndefined();
  expect(stage.coderd).toMatchObject({ appearance: OF_PEOPLE, arePrebuildsPaused: false });
}

function untilAsBefore(stage: UpgradeStage): Promise<void> {
  return stage.eventually(() => expectAsBefore(stage), { withinMs: 20 * MINUTE_MS });
}

async function eventsOf(stage: UpgradeStage, reason: string): Promise<(string | undefined)[]> {
  const events = await stage.events("coder");
  return events.filter((event) => event.reason === reason).map(({ message }) => message);
}

describe("an upgrade that is announced", () => {
  test("shows a banner and pauses prebuilds before the service stops, and puts back both after it", async () => {
    await using stage = await open();
    await stage.change("coder", { image: NEW });
    await stage.untilStage("Migrating");
    await expectAnnounced(stage);
    await stage.untilStage("Completed");
    await untilAsBefore(stage);
    expect([stage.coderd.count(APPEARANCE), stage.coderd.count(PREBUILDS)]).toEqual([2, 2]);
    expect((await eventsOf(stage, "UpgradeAnnounced")).toSorted()).toEqual([
      "Prebuilds are paused during the upgrade.",
      `The banner "${BANNER}" is shown during the upgrade.`,
    ]);
    expect(await eventsOf(stage, "AnnouncementEnded")).toHaveLength(2);
    expect(await eventsOf(stage, "AnnouncementFailed")).toEqual([]);
  });

  test("asks coderd once, however long builds take", async () => {
    const { stage, end } = await drain();
    await using _ = stage;
    const asked = stage.coderd.count("GET /api/v2/appearance");
    await stage.timePasses(5 * MINUTE_MS);
    expect(stage.coderd.count("GET /api/v2/appearance")).toBe(asked);
    end();
    await stage.untilStage("Completed");
    await untilAsBefore(stage);
  });

  test("keeps changes of users, and removes only its own banner", async () => {
    const { stage, end } = await drain();
    await using _ = stage;
    const more = { enabled: true, message: "Lunch", background_color: "#0000ff" };
    const recolored = { ...OURS, background_color: "#ff0000" };
    const changed = { application_name: "Other", logo_url: "data:image/svg+xml,".padEnd(9_000, "x") };
    stage.coderd.appearance = { ...changed, announcement_banners: [recolored, more, THEIRS] };
    end();
    await stage.untilStage("Completed");
    await stage.eventually(() =>
      expect(stage.coderd.appearance).toEqual({ ...changed, announcement_banners: [more, THEIRS] }),
    );
  });

  test("does not repeat what users remove", async () => {
    const { stage, end } = await drain();
    await using _ = stage;
    stage.coderd.appearance = OF_PEOPLE;
    stage.coderd.arePrebuildsPaused = false;
    end();
    await stage.untilStage("Completed");
    await untilAsBefore(stage);
    expect([stage.coderd.count(APPEARANCE), stage.coderd.count(PREBUILDS)]).toEqual([1, 1]);
  });

  test("leaves a banner and a pause that were there before", async () => {
    await using stage = await open();
    stage.coderd.appearance = { ...OF_PEOPLE, announcement_banners: [OURS] };
    stage.coderd.arePrebuildsPaused = true;
    await stage.change("coder", { image: NEW });
    await stage.untilStage("Completed");
    await stage.eventually(async () => expect((await stage.status("coder")).announcement).toBeUndefined());
    expect([stage.coderd.count(APPEARANCE), stage.coderd.count(PREBUILDS)]).toEqual([0, 0]);
    expect(stage.coderd).toMatchObject({
      appearance: { announcement_banners: [OURS] },
      arePrebuildsPaused: true,
    });
  });

  test("is as before after a rollback", async () => {
    await using stage = await open();
    await stage.change("coder", { image: BROKEN });
    await stage.untilStage("Migrating");
    await expectAnnounced(stage);
    await stage.untilStage("RolledBack");
    await untilAsBefore(stage);
  });

  test("is as before when it is cancelled", async () => {
    const { stage } = await drain();
    await using _ = stage;
    await stage.change("coder", { image: OLD });
    await untilAsBefore(stage);
    expect((await stage.status("coder")).upgrade).toBeUndefined();
    expect(await stage.condition("Upgrading")).toBeUndefined();
  });

  test("is reverted when the spec no longer requests it", async () => {
    const { stage, end } = await drain();
    await using _ = stage;
    await stage.change("coder", { upgrade: { announce: null } });
    await untilAsBefore(stage);
    end();
    await stage.untilStage("Completed");
    await expectAsBefore(stage);
  });

  test("to another image in the middle is announced again", async () => {
    const { stage, end } = await drain();
    await using _ = stage;
    await stage.change("coder", { image: LATER });
    await stage.eventually(async () =>
      expect((await stage.status("coder")).upgrade).toMatchObject({ stage: "Draining", to: LATER }),
    );
    await stage.eventually(() => expectAnnounced(stage));
    end();
    await stage.untilStage("Completed");
    await untilAsBefore(stage);
  });

  test("by strategy Rolling is not announced: the service does not stop", async () => {
    await using stage = await open({ upgrade: { ...upgrade, strategy: "Rolling" } });
    await stage.change("coder", { image: NEW });
    await stage.untilStatus("coder", { image: NEW });
    expect(stage.coderd.count(APPEARANCE)).toBe(0);
  });
});

describe("an upgrade goes on unannounced and says so", () => {
  async function expectUnannounced(stage: UpgradeStage, why: string): Promise<void> {
    await stage.untilStage("Migrating");
    const { message } = await stage.untilCondition("coder", "Upgrading", { reason: "Migrating" });
    expect(message).toContain(`The upgrade banner is not shown. ${why}`);
    expect(message).toContain(`Prebuilds are not paused for the upgrade. ${why}`);
    await stage.untilStage("Completed");
    const { message: last } = await stage.untilCondition("coder", "Upgrading", { reason: "Completed" });
    expect(last).not.toContain("banner");
    expect([stage.coderd.count(APPEARANCE), stage.coderd.count(PREBUILDS)]).toEqual([0, 0]);
    expect(await eventsOf(stage, "AnnouncementFailed")).toHaveLength(2);
  }

  test("without a license, although coderd would replace what it hides then", async () => {
    await using stage = await open();
    stage.coderd.licenses = [];
    await stage.change("coder", { image: NEW });
    await expectUnannounced(stage, "The license does not include the feature.");
    expect(stage.coderd.appearance).toEqual(OF_PEOPLE);
  });

  test("without access to coderd", async () => {
    await using stage = await open({ operatorAccess: { disabled: true } });
    await stage.change("coder", { image: NEW });
    await expectUnannounced(stage, "The operator has no access to coderd");
  });

  test.each([
    ["refuses", { kind: "answer", status: 500 }],
    ["does not answer", { kind: "stall" }],
  ] as const)("where coderd %s, and does the other half", async (_, fault) => {
    await using stage = await open();
    const works = stage.coderd.faults.inject({ fault, on: APPEARANCE });
    await stage.change("coder", { image: NEW });
    await stage.untilStage("Migrating");
    expect(stage.coderd.arePrebuildsPaused).toBe(true);
    const [event] = await eventsOf(stage, "AnnouncementFailed");
    expect(event).toContain("The upgrade banner is not shown. PUT /api/v2/appearance");
    works();
    await stage.untilStage("Completed");
    await untilAsBefore(stage);
  });
});

describe("what is announced is put back later", () => {
  test("when coderd refuses it at first, which the condition reports", async () => {
    await using stage = await open();
    await stage.change("coder", { image: NEW });
    await stage.untilStage("Migrating");
    const works = stage.coderd.faults.inject({ fault: { kind: "answer", status: 500 }, on: APPEARANCE });
    await stage.untilStage("Completed");
    const { message } = await stage.untilCondition("coder", "Upgrading", { reason: "Completed" });
    expect(message).toContain("The upgrade banner is not removed yet. PUT /api/v2/appearance");
    expect(await eventsOf(stage, "AnnouncementFailed")).toHaveLength(1);
    works();
    await untilAsBefore(stage);
    await stage.untilCondition("coder", "Upgrading", {
      message: expect.not.stringContaining("banner"),
    });
  });

  test("after an upgrade that was cancelled, which the condition says", async () => {
    const { stage } = await drain();
    await using _ = stage;
    const works = stage.coderd.faults.inject({ fault: { kind: "answer", status: 500 }, on: PREBUILDS });
    await stage.change("coder", { image: OLD });
    const { message } = await stage.untilCondition("coder", "Upgrading", { reason: "AnnouncementRemains" });
    expect(message).toContain("Prebuilds are not resumed yet. PUT");
    works();
    await untilAsBefore(stage);
    await stage.eventually(async () => expect(await stage.condition("Upgrading")).toBeUndefined());
  });

  test("when the lapsed license is renewed: without it coderd hides the banner", async () => {
    await using stage = await open();
    await stage.change("coder", { image: NEW });
    await stage.untilStage("Migrating");
    stage.coderd.licenses = [];
    await stage.untilStage("Completed");
    await stage.untilCondition("coder", "Upgrading", {
      message: expect.stringContaining("not removed yet."),
    });
    stage.coderd.addLicense(fakeLicense({ now: stage.clock.now() }));
    await untilAsBefore(stage);
  });
});

test("an answer that is lost loses neither the announcement nor what was there before", async () => {
  for (let lost = 1; lost <= 40; lost++) {
    const operatorUnderTest = new CrashingOperator({ missesAnswer: lost });
    await using stage = await open();
    await stage.operator.stop();
    const { coderd } = operatorUnderTest.throughWorld(stage.world);
    await stage.startOperator(coderd ? { coderd } : {});
    operatorUnderTest.arm();
    const build = stage.startBuild();
    await stage.change("coder", { image: NEW });
    await stage.eventually(() => expectAnnounced(stage), { withinMs: 5 * MINUTE_MS });
    build.status = "succeeded";
    await stage.untilStage("Completed");
    await untilAsBefore(stage);
    if (operatorUnderTest.effects.length < lost) return expect(lost).toBeGreaterThan(4);
  }
  expect.fail("there is no end of effects");
});
