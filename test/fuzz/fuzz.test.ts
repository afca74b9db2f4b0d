import { CoreEvent, findCondition, type Kind, type Stored } from "kube-controller-runtime";
import { Dice } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchOperator, type RunningOperator } from "../../lab/operator.ts";
import { redact } from "../../src/coder/redact.ts";
import { MemoryWorld } from "../support/world/memory.ts";
import { hostilePieces } from "./draw.ts";
import { type Drawn, drawnKinds, drawObject } from "./objects.ts";

const SEED = 17;
const OBJECTS = 40;
const SECRET = "sekret-that-must-not-leak";

describe("text that is crafted to be slow", () => {
  it("does not hide a secret from the redactor", () => {
    for (const piece of hostilePieces)
      for (const text of [`${piece.repeat(50)} ${SECRET} ${piece.repeat(50)}`, piece.repeat(2_000) + SECRET])
        expect(redact(text, [SECRET]), piece).not.toContain(SECRET);
  });
});

describe("objects that are drawn from our schemas with extreme values", () => {
  let world: MemoryWorld;
  let operator: RunningOperator;

  beforeAll(async () => {
    world = new MemoryWorld();
    const nothing = async () =>
      ({ ok: false, failure: { kind: "unreachable", message: "nothing there" } }) as const;
    const database = { ensureToken: nothing, revokeToken: nothing, inspect: nothing };
    operator = await launchOperator(await world.operatorEnvironment(), {
      coderdRoute: world.coderds.route,
      database,
    });
  });
  afterAll(async () => {
    await operator.stop();
    await world[Symbol.asyncDispose]();
  });

  it("each get a truthful condition, crash nothing, and show no secret anywhere", async () => {
    const dice = new Dice(SEED);
    const made: [Kind<Drawn>, { namespace: string; name: string }][] = [];
    for (let index = 0; index < OBJECTS; index++) {
      const kind = dice.pick(drawnKinds);
      const ref = { namespace: "fuzz", name: `o-${index}` };
      if (
        await world.person
          .create(kind, drawObject(kind, ref, { dice, databaseURL: `postgres://coder:${SECRET}@db/coder` }))
          .catch(() => undefined)
      )
        made.push([kind, ref]);
    }
    expect(made.length).toBeGreaterThan(OBJECTS / 2);
    const objects: Stored<Drawn>[] = [];
    for (const [kind, ref] of made)
      objects.push(await world.eventually(() => reported(kind, ref), { withinMs: 60_000 }));
    for (const { metadata, status } of objects) {
      const ready = findCondition(status?.conditions, "Ready");
      expect(ready, metadata.name).toMatchObject({ message: expect.stringMatching(/./) });
      expect(status?.conditions?.map(({ reason }) => reason)).not.toContain("InternalError");
    }
    const events = await world.person.list(CoreEvent, { namespace: "fuzz" });
    const said = JSON.stringify([objects.map(({ status }) => status), events.items, operator.log]);
    expect(said).not.toContain(SECRET);
  }, 60_000);

  async function reported(kind: Kind<Drawn>, ref: { namespace: string; name: string }) {
    const object = await world.person.get(kind, ref);
    expect(object.status?.observedGeneration).toBe(object.metadata.generation);
    return object;
  }
});
