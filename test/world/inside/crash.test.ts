import { expect, test } from "vitest";
import { CoderOrganization } from "../../../src/api/v1alpha1/kinds.ts";
import { CrashingOperator, type CrashOptions } from "../../support/crashing-operator.ts";
import { type Coderd, InsideStage } from "../../support/stages/inside.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

/*
 * The operator dies after each of its effects, in the cluster and at coderd, or misses the answer, and another one that
 * knows nothing goes on.
 */

const organization = {
  displayName: "Data",
  customRoles: [{ name: "builder", permissions: [{ resourceType: "template", actions: ["read"] }] }],
  idpSync: {
    groups: { field: "groups", mapping: { devs: ["developers"] } },
    roles: { field: "roles", mapping: { leads: ["builder"] } },
  },
};
const group = { organizationName: "data", quotaAllowance: 4 };
/** Its organization, unlike the other, does not sync members. */
const staff = { members: ["ada", "bob"] };

/** An operator that missed an answer tries again after a while. */
const TIME_LIMIT = { withinMs: 5 * 60_000 };

/** Plays an organization with a group to its end, with an operator that fails; returns its effects until then. */
async function play(failure: CrashOptions): Promise<readonly string[]> {
  const world = new MemoryWorld();
  await using stage = new InsideStage(world, await world.createNamespace("crash"));
  const mortal = new CrashingOperator(failure);
  await stage.startOperator(mortal.throughWorld(world));
  const coderd = await stage.controlPlane("coder");
  await stage.untilIdle();
  coderd.deployment.inside.join(coderd.deployment.organizations[0]?.id ?? "", ...staff.members);
  mortal.arm();
  await stage.organization("data", "coder", organization);
  await stage.group("developers", "coder", group);
  await stage.group("staff", "coder", staff);
  if (failure.diesAfter !== undefined) {
    await stage.eventually(() => expect(mortal.isDead).toBe(true), TIME_LIMIT);
    await stage.restart();
  }
  await stage.eventually(() => expectWhole(coderd), TIME_LIMIT);
  await stage.eventually(() => stage.untilReady("developers"), TIME_LIMIT);
  await stage.eventually(() => stage.untilReady("staff"), TIME_LIMIT);
  await stage.eventually(() => stage.untilReady("data", CoderOrganization), TIME_LIMIT);
  expectWhole(coderd);
  return mortal.effects;
}

function expectWhole({ deployment }: Coderd): void {
  const data = deployment.organizations.filter(({ name }) => name === "data");
  const developers = deployment.inside.groups.filter(({ name }) => name === "developers");
  expect(data).toMatchObject([{ display_name: "Data" }]);
  const [{ id } = { id: "" }] = data;
  expect(developers).toMatchObject([{ organization: id, quota: 4 }]);
  const { inside } = deployment;
  expect(inside.namesIn(inside.group("staff"))).toEqual(staff.members);
  expect(inside.groups.filter(({ name }) => name === "staff")).toHaveLength(1);
  expect(deployment.inside.roles).toMatchObject([{ name: "builder", organization: id }]);
  expect(deployment.inside.groupSync(id)).toMatchObject({ mapping: { devs: [developers[0]?.id] } });
  expect(deployment.inside.roleSync(id)).toMatchObject({ mapping: { leads: ["builder"] } });
}

test("an organization and groups are created once, wherever the operator crashes or misses a response", async () => {
  const effects = await play({});
  const atCoderd = effects.filter((effect) => !effect.startsWith("P"));
  expect(atCoderd.toSorted()).toEqual([
    ...["createGroup", "createGroup", "createOrganization", "createRole"],
    ...["setGroup", "setGroupSync", "setGroupSync", "setRoleSync"],
  ]);
  for (let number = 1; number <= effects.length; number++) {
    await play({ diesAfter: number });
    await play({ missesAnswer: number });
  }
});
