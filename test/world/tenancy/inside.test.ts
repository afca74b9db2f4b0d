import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CoderGroup } from "../../../src/api/v1alpha1/kinds.ts";
import { type Coderd, InsideStage } from "../../support/stages/inside.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

/** Another namespace has a control plane of the same name, and a user with all rights in that namespace alone. */
const NAME = "coder";
const CHANGE = /^(POST|PATCH|PUT|DELETE) /;

let victim: InsideStage;
let attacker: InsideStage;
let theirs: Coderd;
let own: Coderd;
let id: string;
beforeAll(async () => {
  const world = new MemoryWorld();
  victim = new InsideStage(world, await world.createNamespace("victim"));
  attacker = new InsideStage(world, await world.createNamespace("attacker"));
  await victim.startOperator({ namespaces: [victim.namespace, attacker.namespace] });
  theirs = await victim.controlPlane(NAME);
  await victim.controlPlane("only-theirs");
  own = await attacker.controlPlane(NAME);
  await victim.group("staff", NAME, { quotaAllowance: 7 });
  id = await victim.untilReady("staff");
});
afterAll(() => victim?.[Symbol.asyncDispose]());

const changes = () => theirs.deployment.count(CHANGE);

/** An object that claims the group of the other namespace in every way that a user can. */
async function claim(name: string, controlPlane: string): Promise<void> {
  const { apiVersion, kind } = CoderGroup;
  await attacker.person.create(CoderGroup, {
    apiVersion,
    kind,
    metadata: { ...attacker.ref(name), annotations: { "coder.com/entity-id": id } },
    spec: {
      controlPlaneRef: { name: controlPlane },
      name: "staff",
      adopt: true,
      deletionPolicy: "Delete",
      quotaAllowance: 1_000,
    },
  });
}

describe("a group of another namespace", () => {
  test("is not reached by its ID, by its name, or by a status", async () => {
    const before = changes();
    await claim("by-id", NAME);
    const ownId = await attacker.untilReady("by-id");
    expect(ownId).not.toBe(id);
    expect(own.deployment.inside.group("staff")).toMatchObject({ id: ownId, quota: 1_000 });
    const organizationID = theirs.deployment.organizations[0]?.id ?? "";
    await attacker.person.patchStatus(CoderGroup, attacker.ref("by-id"), { status: { id, organizationID } });
    await attacker.change("by-id", { quotaAllowance: 2_000 });
    await attacker.eventually(() =>
      expect(own.deployment.inside.group("staff")).toMatchObject({ quota: 2_000 }),
    );
    await attacker.delete(CoderGroup, "by-id");
    await attacker.untilGone(CoderGroup, "by-id");
    expect(own.deployment.inside.group("staff")).toBeUndefined();
    expect(theirs.deployment.inside.group("staff")).toMatchObject({ id, quota: 7 });
    expect(changes()).toBe(before);
  });

  test("is not reached by the name of a control plane that only that namespace has", async () => {
    await claim("by-name", "only-theirs");
    await attacker.untilCondition("by-name", "ControlPlaneReady", { status: "False", reason: "NotFound" });
    await attacker.delete(CoderGroup, "by-name");
    await attacker.untilGone(CoderGroup, "by-name");
    expect(theirs.deployment.inside.group("staff")).toMatchObject({ id, quota: 7 });
  });

  test("does not hold up one of the same name", async () => {
    await attacker.group("staff", NAME);
    await attacker.untilReady("staff");
    await victim.change("staff", { quotaAllowance: 8 });
    await victim.untilReady("staff");
    expect(theirs.deployment.inside.group("staff")).toMatchObject({ id, quota: 8 });
  });
});
