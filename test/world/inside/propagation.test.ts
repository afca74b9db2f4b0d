import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { groupDefinition, organizationDefinition } from "../../../src/api/v1alpha1/definitions.ts";
import { CoderGroup, CoderOrganization } from "../../../src/api/v1alpha1/kinds.ts";
import type { ResourceDefinition } from "../../../src/api/v1alpha1/schema.ts";
import { type Coderd, type InsideStage, openInsideStage } from "../../support/stages/inside.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

/*
 * Every field of both specs has an example here that changes what coderd stores, or a reason why it has none. A new field
 * fails this test until it has one.
 */

let stage: InsideStage;
let coderd: Coderd;
beforeAll(async () => {
  stage = await openInsideStage(new MemoryWorld(), "propagation");
  coderd = await stage.controlPlane("coder");
  coderd.deployment.inside.join(coderd.deployment.organizations[0]?.id ?? "", "ada");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** Fields that decide how the operator acts, and are tested by what it does. */
const engine = ["adopt", "controlPlaneRef", "deletionPolicy", "managementPolicy"];

const groupExamples = {
  avatarURL: "/emojis/1f680.png",
  displayName: "Engineers",
  members: ["ada"],
  name: "another-group",
  quotaAllowance: 12,
};

const organizationExamples = {
  customRoles: [
    {
      name: "auditor",
      displayName: "Auditor",
      permissions: [{ resourceType: "template", actions: ["read"] }],
    },
  ],
  description: "All about research",
  displayName: "Research",
  icon: "/emojis/1f52c.png",
  idpSync: { groups: { field: "groups" } },
  name: "another-organization",
};

const syncExamples = {
  "groups.autoCreate": { groups: { field: "g", autoCreate: true } },
  "groups.field": { groups: { field: "other" } },
  "groups.mapping": { groups: { field: "g", mapping: { value: ["Everyone"] } } },
  "groups.regexFilter": { groups: { field: "g", regexFilter: "^team-" } },
  "roles.field": { roles: { field: "other" } },
  "roles.mapping": { roles: { field: "g", mapping: { value: ["organization-admin"] } } },
};

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
}

const fieldsOf = ({ spec }: ResourceDefinition) => Object.keys((spec as Schema).properties ?? {}).sort();
const named = (field: string, kind: string) => `${kind}-${field.replaceAll(".", "-").toLowerCase()}`;

/** All that coderd stores of an organization and its groups. */
function storedIn(organization: string): string {
  const { inside } = coderd.deployment;
  return JSON.stringify([
    coderd.deployment.findOrganization(organization),
    inside.groups.filter((group) => group.organization === organization),
    inside.roles.filter((role) => role.organization === organization),
    inside.groupSync(organization),
    inside.roleSync(organization),
  ]);
}

describe("of a group", () => {
  test("every field has an example", () => {
    const without = [...engine, "organizationName"];
    expect([...Object.keys(groupExamples), ...without].sort()).toEqual(fieldsOf(groupDefinition));
  });

  test.each(Object.entries(groupExamples))("%s reaches coderd", async (field, example) => {
    const name = named(field, "g");
    await stage.group(name, "coder");
    const id = await stage.untilReady(name);
    const stored = () => JSON.stringify(coderd.deployment.inside.groups.find((group) => group.id === id));
    const before = stored();
    await stage.change(name, { [field]: example });
    expect(await stage.untilReady(name)).toBe(id);
    expect(stored()).not.toBe(before);
  });

  test("organizationName chooses where it is", async () => {
    await stage.organization("elsewhere", "coder");
    const organization = await stage.untilReady("elsewhere", CoderOrganization);
    await stage.group("g-elsewhere", "coder", { organizationName: "elsewhere" });
    await stage.untilReady("g-elsewhere", CoderGroup);
    expect(coderd.deployment.inside.group("g-elsewhere")).toMatchObject({ organization });
  });
});

describe("of an organization", () => {
  test("every field has an example", () => {
    expect([...Object.keys(organizationExamples), ...engine].sort()).toEqual(
      fieldsOf(organizationDefinition),
    );
    const sync = (organizationDefinition.spec as Schema).properties?.idpSync?.properties ?? {};
    const nested = Object.entries(sync).flatMap(([part, { properties = {} }]) =>
      Object.keys(properties).map((field) => `${part}.${field}`),
    );
    expect(Object.keys(syncExamples).sort()).toEqual(nested.sort());
  });

  const withSync = Object.entries(syncExamples).map(([field, idpSync]) => [`idpSync.${field}`, { idpSync }]);
  const plain = Object.entries(organizationExamples).map(([field, value]) => [field, { [field]: value }]);
  test.each([...plain, ...withSync] as [string, object][])("%s reaches coderd", async (field, spec) => {
    const name = named(field, "o");
    await stage.organization(name, "coder");
    const id = await stage.untilReady(name, CoderOrganization);
    const before = storedIn(id);
    await stage.changeOrganization(name, spec);
    expect(await stage.untilReady(name, CoderOrganization)).toBe(id);
    expect(storedIn(id)).not.toBe(before);
  });
});
