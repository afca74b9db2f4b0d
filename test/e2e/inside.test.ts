import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { mint } from "../../lab/mint.ts";
import { CoderControlPlane, CoderGroup, CoderOrganization } from "../../src/api/v1alpha1/kinds.ts";
import type { CoderdAdmin } from "./support/coderd-admin.ts";
import { Tenant } from "./support/tenant.ts";
import { TIME_LIMIT, World } from "./support/world.ts";

const binaries = inject("coder");
const MINUTE = 60_000;
const controlPlaneRef = { name: "coder" };
const READY = { status: "True", reason: "UpToDate" } as const;

interface ListedGroup {
  readonly id: string;
  readonly name: string;
  readonly display_name: string;
  readonly quota_allowance: number;
  readonly members: readonly { readonly username: string }[];
}

describe.skipIf(!binaries)("organizations and groups of the real coderd", () => {
  let world: World;
  let tenant: Tenant;
  let admin: CoderdAdmin;
  const owned = new AsyncDisposableStack();

  beforeAll(async () => {
    if (!binaries) return;
    world = owned.use(await World.open(binaries));
    await world.startOperator();
    const [license] = await mint(binaries, "premium");
    tenant = await Tenant.move(world, "inside", {
      licenseSecretRef: { name: "license" },
      organizationSync: { field: "groups", assignDefault: false, mapping: { researchers: ["research"] } },
    });
    await tenant.putSecret("license", { license });
    await tenant.create(CoderGroup, "engineers", {
      controlPlaneRef,
      organizationName: "research",
      displayName: "Engineers",
      quotaAllowance: 40,
    });
    await tenant.create(CoderOrganization, "research", {
      controlPlaneRef,
      displayName: "Research",
      customRoles: [
        { name: "author", permissions: [{ resourceType: "template", actions: ["read", "update"] }] },
      ],
      idpSync: {
        groups: { field: "groups", regexFilter: "^team-", mapping: { "team-eng": ["engineers"] } },
        roles: { field: "groups", mapping: { leads: ["organization-admin", "author"] } },
      },
      deletionPolicy: "Delete",
    });
    admin = owned.use(await tenant.signUp());
  });
  beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(world.story())));
  afterAll(() => owned.disposeAsync());

  const until = (kind: typeof CoderGroup | typeof CoderOrganization, name: string, expected: object) =>
    tenant.untilCondition(kind, { name, type: "Ready" }, expected);
  const groups = (organization: string) =>
    admin.get<ListedGroup[]>(`/api/v2/organizations/${organization}/groups`);
  const group = async (organization: string, name: string) =>
    (await groups(organization)).find((each) => each.name === name);
  const writes = () =>
    world.gateway.exchanges.filter(
      ({ method, path }) => method !== "GET" && /organizations|groups|idpsync/.test(path),
    );

  test("are created together in any order, with roles and the sync of sign-on", async () => {
    await until(CoderOrganization, "research", READY);
    await until(CoderGroup, "engineers", READY);
    const research = await admin.get<{ id: string; display_name: string }>("/api/v2/organizations/research");
    const engineers = await group("research", "engineers");
    expect(research.display_name).toBe("Research");
    expect(engineers).toMatchObject({ display_name: "Engineers", quota_allowance: 40 });
    await tenant.untilCondition(CoderControlPlane, { type: "OrganizationSyncReady" }, READY);
    expect(await admin.get("/api/v2/settings/idpsync/organization")).toMatchObject({
      field: "groups",
      mapping: { researchers: [research.id] },
      organization_assign_default: false,
    });
    const settings = `/api/v2/organizations/${research.id}/settings/idpsync`;
    expect(await admin.get(`${settings}/groups`)).toMatchObject({
      field: "groups",
      regex_filter: "^team-",
      mapping: { "team-eng": [engineers?.id] },
    });
    expect(await admin.get(`${settings}/roles`)).toMatchObject({
      field: "groups",
      mapping: { leads: ["author", "organization-admin"] },
    });
  });

  test("are corrected after a change in the dashboard, and then not written again", async () => {
    const engineers = await group("research", "engineers");
    await admin.patch(`/api/v2/groups/${engineers?.id}`, { quota_allowance: 1 });
    await world.timePasses(11 * MINUTE);
    await eventually(async () => {
      expect(await group("research", "engineers")).toMatchObject({ quota_allowance: 40 });
    }, TIME_LIMIT);
    await until(CoderGroup, "engineers", READY);
    const before = writes().length;
    await world.timePasses(11 * MINUTE);
    await world.timePasses(11 * MINUTE);
    expect(writes().length).toBe(before);
  });

  test("have the members of the list", async () => {
    await admin.invite({ email: "ada@example.com", username: "ada", name: "Ada" });
    await tenant.create(CoderGroup, "contractors", { controlPlaneRef, members: ["Ada", "oscar"] });
    await tenant.untilCondition(
      CoderGroup,
      { name: "contractors", type: "Synced" },
      { reason: "MembersMissing" },
    );
    const names = (await group("default", "contractors"))?.members.map(({ username }) => username);
    expect(names).toEqual(["ada"]);
    await tenant.change(CoderGroup, "contractors", { members: [] });
    await until(CoderGroup, "contractors", READY);
    expect((await group("default", "contractors"))?.members).toEqual([]);
  });

  test("that exist are not changed until the spec adopts them", async () => {
    await admin.post("/api/v2/organizations/default/groups", { name: "theirs", quota_allowance: 7 });
    await world.timePasses(2 * MINUTE);
    await tenant.create(CoderGroup, "theirs", { controlPlaneRef, quotaAllowance: 1 });
    await until(CoderGroup, "theirs", { status: "False", reason: "ExistsAlready" });
    expect(await group("default", "theirs")).toMatchObject({ quota_allowance: 7 });
    await tenant.change(CoderGroup, "theirs", { adopt: true });
    await until(CoderGroup, "theirs", READY);
    await tenant.change(CoderGroup, "theirs", { name: "ours" });
    await until(CoderGroup, "theirs", READY);
    expect(await group("default", "ours")).toMatchObject({ quota_allowance: 1 });
    expect(await group("default", "theirs")).toBeUndefined();
  });

  test("are deleted when coderd allows it", async () => {
    await tenant.delete(CoderOrganization, "research");
    await eventually(async () => {
      const { status } = await tenant.get(CoderOrganization, "research");
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      expect(ready).toMatchObject({ reason: "DeletionRefused" });
      expect(ready?.message).toContain("must be deleted first");
    }, TIME_LIMIT);
    await tenant.change(CoderGroup, "engineers", { deletionPolicy: "Delete" });
    await until(CoderGroup, "engineers", READY);
    await tenant.delete(CoderGroup, "engineers");
    await eventually(async () => {
      await expect(tenant.get(CoderOrganization, "research")).rejects.toThrow();
    }, TIME_LIMIT);
    await expect(admin.get("/api/v2/organizations/research")).rejects.toThrow();
  });
});
