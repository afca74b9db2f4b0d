import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CoderControlPlane, CoderGroup, CoderOrganization } from "../../../src/api/v1alpha1/kinds.ts";
import { type Coderd, type InsideStage, openInsideStage } from "../../support/stages/inside.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let stage: InsideStage;
let coderd: Coderd;
beforeAll(async () => {
  stage = await openInsideStage(new MemoryWorld(), "organizations");
  coderd = await stage.controlPlane("coder");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const inside = () => coderd.deployment.inside;
const named = (name: string) => coderd.deployment.findOrganization(name);
const untilReady = (name: string) => stage.untilReady(name, CoderOrganization);

describe("an organization", () => {
  test("is created as its spec says, and drift is corrected", async () => {
    await stage.organization("data", "coder", { displayName: "Data", description: "All about data" });
    const id = await untilReady("data");
    expect(named("data")).toMatchObject({ id, display_name: "Data", description: "All about data" });
    Object.assign(named("data") ?? {}, { description: "manual", icon: "/hand.png" });
    await stage.untilCompared();
    await stage.eventually(() => expect(named("data")).toMatchObject({ description: "All about data" }));
    expect(named("data")).toMatchObject({ icon: "/hand.png" });
    expect(await stage.untilEvent("data", "DriftCorrected")).toContain("description of organization");
  });

  test("is renamed, and the keys of provisioners in it stay", async () => {
    await stage.organization("old-name", "coder");
    const id = await untilReady("old-name");
    const key = coderd.deployment.createKey(id, "pool", {});
    await stage.changeOrganization("old-name", { name: "new-name" });
    await stage.eventually(() => expect(named("new-name")).toMatchObject({ id }));
    expect(coderd.deployment.keys).toContain(key);
  });

  test("is renamed, and its groups stay and go with their objects", async () => {
    await stage.organization("before", "coder");
    await untilReady("before");
    await stage.group("staff", "coder", { organizationName: "before", deletionPolicy: "Delete" });
    const id = await stage.untilReady("staff");
    await stage.changeOrganization("before", { name: "after" });
    await stage.eventually(() => expect(named("after")).toBeDefined());
    await stage.change("staff", { quotaAllowance: 5 });
    expect(await stage.untilReady("staff")).toBe(id);
    expect(inside().group("staff")).toMatchObject({ id, quota: 5 });
    await stage.delete(CoderGroup, "staff");
    await stage.untilGone(CoderGroup, "staff");
    expect(inside().group("staff")).toBeUndefined();
  });

  test("that exists is taken over only where the spec says so, the default one too", async () => {
    await stage.organization("default-org", "coder", { name: "coder", displayName: "Company" });
    await stage.untilOrganization("default-org", "Conflict", { reason: "ExistsAlready" });
    await stage.changeOrganization("default-org", { adopt: true });
    await untilReady("default-org");
    expect(named("default")).toMatchObject({ display_name: "Company" });
  });
});

describe("custom roles", () => {
  const builder = {
    name: "builder",
    displayName: "Builder",
    permissions: [{ resourceType: "template", actions: ["update", "create"] }],
  };

  test("are those of the spec and no others", async () => {
    await stage.organization("with-roles", "coder", { customRoles: [builder] });
    const id = await untilReady("with-roles");
    const roles = () => inside().roles.filter(({ organization }) => organization === id);
    expect(roles()).toMatchObject([{ name: "builder", displayName: "Builder" }]);
    expect(roles()[0]?.permissions).toEqual([
      { resource_type: "template", action: "create", negate: false },
      { resource_type: "template", action: "update", negate: false },
    ]);
    inside().roles = [{ organization: id, name: "by-hand", displayName: "", permissions: [] }];
    await stage.untilCompared();
    await stage.eventually(() => expect(roles()).toMatchObject([{ name: "builder" }]));
    expect(await stage.untilEvent("with-roles", "DriftCorrected")).toContain("customRoles of");
  });
});

test("a custom role with capitals is stored in lower case, and does not count as different", async () => {
  await stage.organization("capitals", "coder", { customRoles: [{ name: "Builder" }] });
  const organization = await untilReady("capitals");
  expect(inside().roles).toContainEqual(expect.objectContaining({ organization, name: "builder" }));
});

describe("the sync with the identity provider", () => {
  test("is reported by what failed or differs first, then by what is missing", async () => {
    await stage.byHand(() => coderd.deployment.addOrganization("watched"));
    const groups = { field: "groups", mapping: { devs: ["nowhere"] } };
    const spec = { managementPolicy: "Observe", idpSync: { groups } };
    await stage.organization("watched", "coder", spec);
    await stage.untilOrganization("watched", "Synced", { reason: "Drifted" });
    const fault = { kind: "cut" } as const;
    const end = coderd.deployment.faults.inject({ fault, on: /^PATCH .*idpsync/ });
    await stage.changeOrganization("watched", { managementPolicy: "Manage", adopt: true });
    await stage.untilOrganization("watched", "Synced", { reason: "CoderdUnreachable" });
    end();
    await stage.timePasses(61_000);
    await stage.untilOrganization("watched", "Synced", { reason: "GroupsMissing" });
  });

  test("maps values of claims to groups and roles by their names", async () => {
    await stage.organization("synced", "coder", {
      customRoles: [{ name: "reviewer" }],
      idpSync: {
        groups: { field: "groups", mapping: { devs: ["developers"] } },
        roles: { field: "roles", mapping: { leads: ["organization-admin", "reviewer"] } },
      },
    });
    const missing = await stage.untilOrganization("synced", "Synced", { reason: "GroupsMissing" });
    expect(missing.message).toContain('"developers"');
    // The rest is in force, and the group that comes later in the same apply completes it at once.
    const id = named("synced")?.id ?? "";
    expect(inside().groupSync(id)).toMatchObject({ field: "groups", mapping: { devs: [] } });
    await stage.group("developers", "coder", { organizationName: "synced" });
    const group = await stage.untilReady("developers");
    await untilReady("synced");
    expect(inside().groupSync(id)).toMatchObject({ mapping: { devs: [group] } });
    expect(inside().roleSync(id)).toEqual({
      field: "roles",
      mapping: { leads: ["organization-admin", "reviewer"] },
    });
  });

  test("is not taken for refused when a group of the mapping is created before it is read back", async () => {
    const fault = { kind: "latency", ms: 2_000 } as const;
    const end = coderd.deployment.faults.inject({ fault, on: /^GET .*idpsync\/groups/ });
    await stage.organization("raced", "coder", {
      idpSync: { groups: { field: "groups", mapping: { devs: ["latecomers"] } } },
    });
    const sync = () => inside().groupSync(named("raced")?.id ?? "");
    await stage.eventually(() => expect(sync()).toMatchObject({ field: "groups" }));
    await stage.group("latecomers", "coder", { organizationName: "raced" });
    const group = await stage.untilReady("latecomers");
    end();
    const { reason } = await stage.untilOrganization("raced", "Synced", { reason: expect.any(String) });
    expect(reason).not.toBe("Rejected");
    await untilReady("raced");
    expect(sync()).toMatchObject({ mapping: { devs: [group] } });
  });

  test("keeps what the spec leaves out", async () => {
    await stage.organization("partly-synced", "coder");
    const id = await untilReady("partly-synced");
    const byHand = { field: "old", mapping: { a: [] }, regex_filter: "^a", auto_create_missing_groups: true };
    await stage.byHand(() => inside().setGroupSync(id, byHand));
    await stage.changeOrganization("partly-synced", { idpSync: { groups: { field: "groups" } } });
    await stage.eventually(() => expect(inside().groupSync(id)).toEqual({ ...byHand, field: "groups" }));
  });
});

describe("the organizations that users get at sign-on", () => {
  test("are mapped by name as the control plane says, and one that is created later completes the mapping", async () => {
    const organizationSync = { field: "groups", mapping: { researchers: ["research"] } };
    await stage.person.mergePatch(CoderControlPlane, stage.ref("coder"), { spec: { organizationSync } });
    const condition = async () => {
      const { status } = await stage.get(CoderControlPlane, "coder");
      return status?.conditions?.find(({ type }) => type === "OrganizationSyncReady");
    };
    await stage.eventually(async () =>
      expect(await condition()).toMatchObject({ status: "False", reason: "OrganizationMissing" }),
    );
    // assignDefault is not set, so it stays as it was.
    expect(inside().organizationSync).toMatchObject({
      field: "groups",
      mapping: { researchers: [] },
      organization_assign_default: true,
    });
    await stage.organization("research", "coder");
    const id = await untilReady("research");
    await stage.eventually(async () => expect(await condition()).toMatchObject({ status: "True" }));
    expect(inside().organizationSync).toMatchObject({ mapping: { researchers: [id] } });
    inside().organizationSync = { field: "", mapping: null, organization_assign_default: false };
    await stage.untilCompared();
    await stage.eventually(() =>
      expect(inside().organizationSync).toMatchObject({ field: "groups", mapping: { researchers: [id] } }),
    );
    await stage.person.mergePatch(CoderControlPlane, stage.ref("coder"), {
      spec: { organizationSync: null },
    });
    await stage.eventually(async () => expect(await condition()).toBeUndefined());
    expect(inside().organizationSync).toMatchObject({ field: "groups" });
  });
});

describe("a deleted object", () => {
  test("leaves its organization in coderd unless the spec says otherwise", async () => {
    await stage.organization("kept", "coder");
    await untilReady("kept");
    await stage.delete(CoderOrganization, "kept");
    await stage.untilGone(CoderOrganization, "kept");
    expect(named("kept")).toBeDefined();
  });

  test("waits for what coderd wants deleted first, and goes with it", async () => {
    await stage.organization("full", "coder", { deletionPolicy: "Delete" });
    await untilReady("full");
    await stage.group("inner", "coder", { organizationName: "full", deletionPolicy: "Delete" });
    await stage.untilReady("inner");
    await stage.delete(CoderOrganization, "full");
    const { message } = await stage.untilOrganization("full", "Ready", { reason: "DeletionRefused" });
    expect(message).toContain("1 group that must be deleted first");
    expect(message).toContain("set spec.deletionPolicy to Retain");
    expect(message).not.toContain("Correct the rejected values");
    await stage.untilOrganization("full", "Stalled", { status: "True", reason: "DeletionRefused", message });
    await stage.delete(CoderGroup, "inner");
    await stage.untilGone(CoderGroup, "inner");
    await stage.untilGone(CoderOrganization, "full");
    expect(named("full")).toBeUndefined();
  });

  test("is not Reconciling any longer once coderd refuses the deletion", async () => {
    const idpSync = { groups: { field: "groups", mapping: { later: ["later"] } } };
    await stage.organization("moving", "coder", { deletionPolicy: "Delete", idpSync });
    await stage.untilOrganization("moving", "Reconciling", { status: "True", reason: "GroupsMissing" });
    inside().join(named("moving")?.id ?? "", "oscar");
    await stage.delete(CoderOrganization, "moving");
    await stage.untilOrganization("moving", "Stalled", { status: "True", reason: "DeletionRefused" });
    const { status } = await stage.get(CoderOrganization, "moving");
    expect(status?.conditions?.map(({ type }) => type)).not.toContain("Reconciling");
  });

  test("is released as soon as its policy is Retain", async () => {
    await stage.organization("stuck", "coder", { deletionPolicy: "Delete" });
    const id = await untilReady("stuck");
    inside().join(id, "oscar");
    await stage.delete(CoderOrganization, "stuck");
    await stage.untilOrganization("stuck", "Ready", { reason: "DeletionRefused" });
    await stage.changeOrganization("stuck", { deletionPolicy: "Retain" });
    await stage.untilGone(CoderOrganization, "stuck");
    expect(named("stuck")).toBeDefined();
  });
});
