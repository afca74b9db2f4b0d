import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CoderControlPlane, CoderGroup, CoderOrganization } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { type Coderd, type InsideStage, openInsideStage } from "../../support/stages/inside.ts";
import { openRealWorld } from "../../support/world/real.ts";

/*
 * The life of an organization and of a group on real parts: the API server with our schemas, under the operator's own
 * role, and sockets to coderd. Everything else about them is tested in `test/world/inside`.
 */

/** A request to coderd that changes something. */
const CHANGE = /^(POST|PATCH|PUT|DELETE) /;
/** A value of a claim, which nothing that the operator says may contain. */
const CLAIM = "cn=engineers,ou=research";

const cluster = sharedCluster();
let stage: InsideStage;
let coderd: Coderd;
beforeAll(async () => {
  stage = await openInsideStage(await openRealWorld(cluster), "inside-life");
  coderd = await stage.controlPlane("coder");
  stage.secrets.add(CLAIM);
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const inside = () => coderd.deployment.inside;
const named = (name: string) => coderd.deployment.findOrganization(name);

/** A row of `kubectl get`, without the age. */
async function row(kind: string, name: string): Promise<string[]> {
  const { stdout } = await cluster.kubectl(["get", kind, name, "-n", stage.namespace, "--no-headers"]);
  return stdout.trim().split(/\s+/).slice(0, -1);
}

describe("an organization and a group in it", () => {
  test("are created by one apply, the group first", async () => {
    const mapping = { [CLAIM]: ["engineers"] };
    await stage.group("engineers", "coder", { organizationName: "research", quotaAllowance: 40 });
    await stage.untilCondition("engineers", "Synced", { reason: "OrganizationMissing" });
    await stage.organization("research", "coder", {
      displayName: "Research",
      customRoles: [{ name: "reviewer", permissions: [{ resourceType: "template", actions: ["read"] }] }],
      idpSync: {
        groups: { field: "groups", mapping },
        roles: { field: "groups", mapping: { lead: ["reviewer"] } },
      },
    });
    const group = await stage.untilReady("engineers");
    const id = await stage.untilReady("research", CoderOrganization);
    expect(named("research")).toMatchObject({ id, display_name: "Research" });
    expect(inside().group("engineers")).toMatchObject({ id: group, quota: 40 });
    expect(inside().groupSync(id)).toMatchObject({ field: "groups", mapping: { [CLAIM]: [group] } });
    expect(inside().roleSync(id)).toMatchObject({ mapping: { lead: ["reviewer"] } });
    const { metadata, status } = await stage.get(CoderGroup, "engineers");
    expect(metadata.annotations).toMatchObject({ "coder.com/entity-id": group });
    expect(status).toMatchObject({ organizationID: id });
  });

  test("are shown by kubectl get", async () => {
    expect(await row("corg", "research")).toEqual(["research", "True", "UpToDate", "coder"]);
    expect(await row("cgrp", "engineers")).toEqual(["engineers", "True", "UpToDate", "coder"]);
  });

  test("get members from the organization sync of the control plane", async () => {
    const organizationSync = { field: "groups", assignDefault: false, mapping: { [CLAIM]: ["research"] } };
    await stage.person.mergePatch(CoderControlPlane, stage.ref("coder"), { spec: { organizationSync } });
    const mapping = { [CLAIM]: [named("research")?.id] };
    await stage.eventually(() =>
      expect(inside().organizationSync).toEqual({
        field: "groups",
        mapping,
        organization_assign_default: false,
      }),
    );
    await stage.eventually(async () => {
      const { status } = await stage.get(CoderControlPlane, "coder");
      expect(status?.conditions).toContainEqual(
        expect.objectContaining({ type: "OrganizationSyncReady", status: "True" }),
      );
    });
  });

  test("are corrected after a change in coderd, with an event that names the field", async () => {
    Object.assign(inside().group("engineers") ?? {}, { quota: 99 });
    Object.assign(named("research") ?? {}, { display_name: "Manual" });
    await stage.untilCompared();
    await stage.eventually(() => expect(inside().group("engineers")).toMatchObject({ quota: 40 }));
    await stage.eventually(() => expect(named("research")).toMatchObject({ display_name: "Research" }));
    expect(await stage.untilEvent("engineers", "DriftCorrected")).toContain("quotaAllowance of group");
    expect(await stage.untilEvent("research", "DriftCorrected")).toContain("displayName of organization");
  });

  test("cost no write after a restart", async () => {
    await stage.untilReady("engineers");
    await stage.untilReady("research", CoderOrganization);
    const asked = coderd.deployment.count(CHANGE);
    const { runs } = stage.counters;
    await stage.restart();
    await stage.eventually(() => expect(stage.counters.runs).toBeGreaterThanOrEqual(runs + 3));
    await stage.untilIdle();
    const writes = stage.operator.transport.requests.filter(
      ({ method, path }) => method !== "GET" && path.includes("/coder.com/"),
    );
    expect(writes).toEqual([]);
    expect(coderd.deployment.count(CHANGE)).toBe(asked);
  });
});

describe("on deletion", () => {
  test("a group stays in coderd with Retain, and is deleted with Delete", async () => {
    for (const deletionPolicy of ["Retain", "Delete"]) {
      const name = deletionPolicy.toLowerCase();
      await stage.group(name, "coder", { deletionPolicy });
      await stage.untilReady(name);
      await stage.delete(CoderGroup, name);
      await stage.untilGone(CoderGroup, name);
    }
    expect(inside().group("retain")).toBeDefined();
    expect(inside().group("delete")).toBeUndefined();
  });

  test("an organization that coderd does not delete stays until its policy is Retain", async () => {
    await stage.changeOrganization("research", { deletionPolicy: "Delete" });
    await stage.untilReady("research", CoderOrganization);
    await stage.delete(CoderOrganization, "research");
    await stage.untilOrganization("research", "Ready", { reason: "DeletionRefused" });
    await stage.changeOrganization("research", { deletionPolicy: "Retain" });
    await stage.untilGone(CoderOrganization, "research");
    expect(named("research")).toBeDefined();
  });

  test("of the control plane, all of its objects are released at once", async () => {
    await stage.change("engineers", { deletionPolicy: "Delete" });
    await stage.untilReady("engineers");
    await stage.delete(CoderControlPlane, "coder");
    await stage.delete(CoderGroup, "engineers");
    await stage.untilGone(CoderGroup, "engineers");
    expect(inside().group("engineers")).toBeDefined();
  });
});
