import type { Transport } from "kube-controller-runtime";
import { beforeEach, describe, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { kubectlCoder, limited, type Seen } from "../../support/plugin.ts";
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
async function checked(
  status: "True" | "False",
  message: string,
  { request, transport = world.api }: { request?: string; transport?: Transport } = {},
): Promise<Seen> {
  const person = { transport, clock: world.clock, namespace: "dev" };
  const seen = kubectlCoder(person, "upgrade", "check", IMAGE);
  await world.clock.advance(3_000);
  const [image, own] = (await asked())?.split(" ") ?? [];
  expect(image).toBe(IMAGE);
  await conditionIs({ status, message: `${message} Request "${request ?? own}".` });
  await world.clock.advance(120_000);
  return seen;
}

async function conditionIs(condition: { status: "True" | "False"; message: string }): Promise<void> {
  const whole = { type: "UpgradePossible", reason: "Checked", lastTransitionTime: "2026-01-01T00:00:00Z" };
  const conditions = [{ ...whole, ...condition }];
  await world.person.patchStatus(CoderControlPlane, ref, { status: { conditions } });
}

const ask = (question: string) =>
  world.person.mergePatch(CoderControlPlane, ref, {
    metadata: { annotations: { "coder.com/check-upgrade": question } },
  });

describe("upgrade check", () => {
  test("asks by annotation, shows the answer, and takes the question back", async () => {
    const { code, out } = await checked("True", `An upgrade to "${IMAGE}" can start.`);
    expect({ code, out }).toEqual({
      code: 0,
      out: `ok controlplane/coder Checked\n  An upgrade to "${IMAGE}" can start.\n`,
    });
    expect(await asked()).toBeUndefined();
  });

  test("ends with 3 when something is in the way", async () => {
    expect(await checked("False", `An upgrade to "${IMAGE}" cannot start.`)).toMatchObject({ code: 3 });
  });

  test("does not take the answer to another request for its own, and gives up after a minute", async () => {
    const message = `An upgrade to "${IMAGE}" can start.`;
    await conditionIs({ status: "True", message });
    const { code, error } = await checked("True", message, { request: "of-another" });
    expect(code).toBe(1);
    expect(error).toContain("did not respond within 60 s. To check the operator, run: kubectl coder check");
    expect(await asked()).toBeUndefined();
  });

  test("says so if another client asks in the meantime, and keeps its question", async () => {
    const person = { transport: world.api, clock: world.clock, namespace: "dev" };
    const seen = kubectlCoder(person, "upgrade", "check", IMAGE);
    await world.clock.advance(3_000);
    await ask("coder:v2.26.0 theirs");
    await world.clock.advance(3_000);
    expect((await seen).error).toContain("Another client is checking an upgrade");
    expect(await asked()).toBe("coder:v2.26.0 theirs");
  });

  test.each([
    ["removes the question of a run that was killed", "coder:v2.24.0 killed", undefined],
    ["puts back the question of a person", "coder:v2.24.0", "coder:v2.24.0"],
  ])("%s", async (_, before, after) => {
    await ask(before);
    expect(await checked("True", "It can start.")).toMatchObject({ code: 0 });
    expect(await asked()).toBe(after);
  });

  test("shows the answer although the question can't be taken back", async () => {
    let writes = 0;
    const transport = limited(world.api, ({ method }) => method === "GET" || writes++ === 0);
    const { code, out } = await checked("True", "It can start.", { transport });
    expect(code).toBe(0);
    expect(out).toContain("It can start. The annotation coder.com/check-upgrade could not be removed");
  });

  test.each(["", "coder v3"])("refuses the image %j, which is none, and asks nothing", async (image) => {
    const person = { transport: world.api, clock: world.clock, namespace: "dev" };
    expect(await kubectlCoder(person, "upgrade", "check", image)).toMatchObject({ code: 2 });
    expect(await asked()).toBeUndefined();
  });
});
