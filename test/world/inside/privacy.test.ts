import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CoderControlPlane, CoderOrganization } from "../../../src/api/v1alpha1/kinds.ts";
import { type Coderd, type InsideStage, openInsideStage } from "../../support/stages/inside.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

/*
 * When the stage closes, it searches all logs, events, statuses and metrics for these values.
 */
const CLAIM = "cn=project-nightingale,dc=example";
const USERNAME = "florence-n";
const EMAIL = `${USERNAME}@example.com`;

let stage: InsideStage;
beforeAll(async () => {
  stage = await openInsideStage(new MemoryWorld(), "privacy");
  stage.secrets.add(CLAIM, EMAIL);
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const mapping = { [CLAIM]: ["nowhere"] };

/** A control plane of this name, with each sync in the spec of an object. */
async function withSync(name: string): Promise<Coderd> {
  const organizationSync = { field: "groups", mapping };
  const coderd = await stage.controlPlane(name, { organizationSync });
  const idpSync = { groups: { field: "groups", mapping }, roles: { field: "groups", mapping } };
  await stage.organization(name, name, { idpSync });
  return coderd;
}

async function untilSync(name: string, reason: string): Promise<string> {
  return stage.eventually(async () => {
    const { status } = await stage.get(CoderControlPlane, name);
    const found = status?.conditions?.find(({ type }) => type === "OrganizationSyncReady");
    expect(found).toMatchObject({ status: "False", reason });
    return found?.message ?? "";
  });
}

describe("values of claims", () => {
  test("are not in the message about a name that coderd lacks", async () => {
    await withSync("missing");
    expect(await untilSync("missing", "OrganizationMissing")).toContain('organization "nowhere"');
    const { message } = await stage.untilOrganization("missing", "Synced", { reason: "GroupsMissing" });
    expect(message).toContain('group "nowhere"');
  });

  test("are not in the message about a refusal that quotes them", async () => {
    const coderd = await stage.controlPlane("refusing");
    const detail = `${CLAIM} is not allowed`;
    const body = { message: `Bad mapping: ${CLAIM}.`, validations: [{ field: "mapping", detail }] };
    coderd.deployment.faults.inject({
      fault: { kind: "answer", status: 400, body },
      on: /^PATCH .*idpsync/,
    });
    const organizationSync = { field: "groups", mapping };
    await stage.person.mergePatch(CoderControlPlane, stage.ref("refusing"), { spec: { organizationSync } });
    expect(await untilSync("refusing", "Rejected")).toContain(
      "Bad mapping: [redacted]. (HTTP 400). mapping: [redacted]",
    );
    for (const sync of ["groups", "roles"]) {
      await stage.organization(`refused-${sync}`, "refusing", {
        idpSync: { [sync]: { field: "g", mapping } },
      });
      const { message } = await stage.untilOrganization(`refused-${sync}`, "Synced", { reason: "Rejected" });
      expect(message).toContain("Bad mapping: [redacted].");
    }
  });

  test("are not in the message about an answer of another shape", async () => {
    const coderd = await stage.controlPlane("garbled");
    await stage.organization("garbled", "garbled");
    const id = await stage.untilReady("garbled", CoderOrganization);
    const present = { field: "groups", mapping: { [CLAIM]: [5] } };
    await stage.byHand(() => coderd.deployment.inside.setRoleSync(id, present));
    await stage.changeOrganization("garbled", { idpSync: { roles: { field: "groups" } } });
    const { message } = await stage.untilOrganization("garbled", "Synced", { reason: "CoderdUnreachable" });
    expect(message).toContain(".mapping.*[0] is a number where a string was expected");
  });
});

test("a mapping of thousands of names that coderd lacks has a message that a status can hold", async () => {
  const names = (value: number) =>
    Array.from({ length: 64 }, (_, index) => `missing-${value}-${index}-${"x".repeat(200)}`);
  const many = Object.fromEntries(Array.from({ length: 64 }, (_, value) => [`value-${value}`, names(value)]));
  await stage.controlPlane("many");
  await stage.organization("many", "many", { idpSync: { groups: { field: "groups", mapping: many } } });
  const { message } = await stage.untilOrganization("many", "Synced", { reason: "GroupsMissing" });
  expect(message).toContain(" and 4086 others; create");
  expect(message.length).toBeLessThan(4_096);
});

test("email addresses of members are neither kept nor shown", async () => {
  const coderd = await stage.controlPlane("members");
  const organization = coderd.deployment.organizations[0]?.id ?? "";
  await stage.byHand(() => coderd.deployment.inside.join(organization, USERNAME));
  await stage.group("members", "members", { members: [USERNAME, "stranger"] });
  const { message } = await stage.untilCondition("members", "Synced", { reason: "MembersMissing" });
  expect(message).toContain('"stranger"');
  expect(coderd.deployment.inside.namesIn(coderd.deployment.inside.group("members"))).toEqual([USERNAME]);
});
