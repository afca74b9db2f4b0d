import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { canKillForMemory } from "./support/memory.ts";
import { Observer } from "./support/observer.ts";
import { Platform, poolOf } from "./support/platform.ts";
import { clearScript, SCRIPT_END, scripted, serveFor, setScript } from "./support/scripted-container.ts";
import { assertSteady, assertTruth, ended, isReady, type Trouble } from "./support/truth.ts";

const MINUTE = 60_000;
const OBJECT = "coderprovisioner/scripted";

describe.runIf(inject("place")?.coder)("a pool of real daemons that crash again and again", () => {
  let platform: Platform;
  let observer: Observer;
  beforeAll(async () => {
    platform = await Platform.open("crashing", {
      pools: { scripted: { ...scripted, tags: { pool: "scripted" } } },
    });
    observer = new Observer(platform.cluster, platform.namespace);
  });
  beforeEach(({ onTestFailed }) => onTestFailed(async () => console.error(await platform?.story())));
  afterAll(async () => {
    await observer?.[Symbol.asyncDispose]();
    await platform?.[Symbol.asyncDispose]();
  });

  const addPool = (name: string, spec: object) =>
    platform.cluster.apply(
      poolOf({ namespace: platform.namespace, name }, { ...spec, tags: { pool: name } }),
    );

  test("is Stalled although it was Ready and each daemon is connected for 15 s, with the exit code and the last line", async () => {
    const { value: pods } = await observer.first(
      (sample) => (sample.pods(OBJECT)[0] ? sample.pods(OBJECT) : undefined),
      {
        withinMs: MINUTE,
      },
    );
    expect(pods.map(isReady)).toEqual([true]);
    await setScript(
      platform,
      serveFor(15),
      pods.map(({ metadata }) => metadata?.name ?? ""),
    );
    // They crash beside it, to be looked at below.
    await addPool("pathless", { extraEnv: [{ name: "PATH", value: "/nonexistent" }] });
    const trouble: Trouble = {
      object: OBJECT,
      since: ended(SCRIPT_END.exitCode),
      says: ['container "provisioner"', `exit code ${SCRIPT_END.exitCode}`, SCRIPT_END.lastLine],
    };
    const told = await assertTruth(platform, observer, trouble);
    await assertSteady(observer, trouble, { from: told, restarts: 2 });
    await assertTruth(platform, observer, trouble);
  });

  test("is Ready again once its daemons stay", async () => {
    await clearScript(platform);
    await observer.first((sample) => sample.condition(OBJECT, "Ready")?.status === "True" || undefined, {
      withinMs: MINUTE,
    });
  });

  test("is Stalled for daemons without Terraform, which end 15 s after each start", async () => {
    const trouble: Trouble = {
      object: "coderprovisioner/pathless",
      since: ended(1),
      says: ['container "provisioner"', "exit code 1"],
    };
    const told = await assertTruth(platform, observer, trouble);
    await assertSteady(observer, trouble, { from: told, restarts: 2 });
  });

  test("is Stalled for daemons that are killed for their memory", async ({ skip }) => {
    skip(!(await canKillForMemory(platform)), "this kernel or its runtime does not enforce limits of memory");
    await addPool("hungry", { resources: { limits: { memory: "24Mi" } } });
    const trouble: Trouble = {
      object: "coderprovisioner/hungry",
      since: ended(137),
      says: ['container "provisioner"', "more memory than its limit", "exit code 137"],
    };
    const told = await assertTruth(platform, observer, trouble);
    await assertSteady(observer, trouble, { from: told, restarts: 2 });
  });
});
