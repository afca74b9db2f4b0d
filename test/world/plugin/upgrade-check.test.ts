import { beforeEach, describe, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { kubectlCoder, type Seen } from "../../support/plugin.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const IMAGE = "coder:v2.25.0";
const ref = { namespace: "dev", name: "coder" };

let world: MemoryWorld;
beforeEach(async () => {
  world = new MemoryWorld();
  await world.person.create(CoderControlPlane, { metadata: ref });
});

const asked = async () =>
  (await world.person.get(CoderControlPlane, ref)).metadata.annotations?.["coder.com/check-upgrade"];

/** Plays the operator: answers when it is asked. */
async function checked(status: "True" | "False", message: string): Promise<Seen> {
  const person = { transport: world.api, clock: world.clock, namespace: "dev" };
  const seen = kubectlCoder(person, "upgrade", "check", IMAGE);
  await world.clock.advance(3_000);
  expect(await asked()).toBe(IMAGE);
  const condition = { type: "UpgradePossible", status, reason: "Checked", message };
  const conditions = [{ ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" }];
  await world.person.patchStatus(CoderControlPlane, ref, { status: { conditions } });
  await world.clock.advance(120_000);
  return seen;
}

describe("upgrade check", () => {
  test("asks by annotation, shows the answer, and takes the question back", async () => {
    const { code, out } = await checked("True", `An upgrade to "${IMAGE}" can begin.`);
    expect({ code, out }).toEqual({
      code: 0,
      out: `ok controlplane/coder Checked\n  An upgrade to "${IMAGE}" can begin.\n`,
    });
    expect(await asked()).toBeUndefined();
  });

  test("ends with 3 when something is in the way", async () => {
    expect(await checked("False", `An upgrade to "${IMAGE}" can't begin.`)).toMatchObject({ code: 3 });
  });

  test("does not take the answer about another image for its own, and gives up after a minute", async () => {
    const { code, error } = await checked("True", 'An upgrade to "coder:v2.24.0" can begin.');
    expect(code).toBe(1);
    expect(error).toContain("has not answered within 60 s. Is it well? Run: kubectl coder check");
    expect(await asked()).toBeUndefined();
  });
});
