import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { openStage, type ProvisionerStage } from "../../support/stages/provisioner.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const HOUR = 60 * 60_000;
const LIST = /^GET .*organizations\/.*provisionerkeys$/;

let world: MemoryWorld;
let stage: ProvisionerStage;
let coderd: CoderdDeployment;
beforeEach(async () => {
  world = new MemoryWorld();
  stage = await openStage(world, "unlisted");
  coderd = await stage.controlPlane();
});
afterEach(() => stage[Symbol.asyncDispose]());

/** coderd's answer to a token that may create keys but not read them. */
const listNothing = () =>
  coderd.faults.inject({ on: LIST, fault: { kind: "answer", status: 200, body: [] } });

describe("a key that coderd accepts and does not list", () => {
  test("is not replaced when it was just made, and the condition says what the token lacks", async () => {
    listNothing();
    await stage.create("pool");
    const { message } = await stage.untilCondition("pool", "ProvisionerKeyReady", {
      status: "False",
      reason: "Forbidden",
    });
    expect(message).toContain('coderd accepts key "pool", but does not list it');
    await world.clock.advance(HOUR);
    expect(coderd.everyKey).toHaveLength(1);
  });

  test("is not replaced when it was listed before, also after a restart, and is in use again when it is listed", async () => {
    const before = await stage.serve("pool");
    const end = listNothing();
    await world.clock.advance(HOUR);
    await stage.restart();
    await world.clock.advance(HOUR);
    await stage.untilCondition("pool", "ProvisionerKeyReady", { status: "False", reason: "Forbidden" });
    end();
    await world.clock.advance(HOUR);
    expect((await stage.untilSettled("pool")).provisionerKeyID).toBe(before.provisionerKeyID);
    expect(coderd.everyKey).toHaveLength(1);
  });
});

describe("keys that coderd disowns one after the other are not replaced again and again", () => {
  test("because it forgets them at once", async () => {
    const create = coderd.createKey.bind(coderd);
    coderd.createKey = (organization, name, tags) => {
      const key = create(organization, name, tags);
      coderd.deleteKey(key);
      return key;
    };
    await stage.create("pool");
    await world.clock.advance(6 * HOUR);
    expect(coderd.everyKey).toHaveLength(1);
  });

  test("because it makes them with other tags", async () => {
    const create = coderd.createKey.bind(coderd);
    coderd.createKey = (organization, name, tags) => create(organization, name, { ...tags, more: "1" });
    await stage.create("pool", { tags: { a: "1" } });
    await world.clock.advance(6 * HOUR);
    expect(coderd.everyKey).toHaveLength(1);
  });

  test("because each is deleted", async () => {
    await stage.serve("pool");
    for (let times = 0; times < 15; times++) {
      coderd.keys = [];
      await world.clock.advance(HOUR / 20);
    }
    expect(coderd.everyKey).toHaveLength(2);
    await world.clock.advance(HOUR / 2);
    expect(coderd.everyKey).toHaveLength(3);
    await stage.rollOut("pool");
    await stage.untilSettled("pool");
  });
});
