import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CoreEvent, type Kind, type KubeObject } from "kube-controller-runtime";
import { beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { CoderControlPlane, CoderGroup, CoderOrganization } from "../../../src/api/v1alpha1/kinds.ts";
import type { ControlPlaneReport, StatusReport } from "../../../src/plugin/commands/status/report.ts";
import type { Link } from "../../../src/plugin/commands/why/report.ts";
import { kubectlCoder, limited } from "../../support/plugin.ts";
import { createOperator } from "../../support/plugin-fixture.ts";
import { unzipped } from "../../support/unzipped.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let world: MemoryWorld;
beforeEach(async () => {
  world = new MemoryWorld();
  await createOperator(world.person, { namespace: "system", now: world.clock.now() });
  await put(CoderControlPlane, "coder", {}, [is("Ready", "Serving")]);
});

type Condition = readonly [type: string, status: "True" | "False", reason: string, message: string];
const is = (type: string, reason: string): Condition => [type, "True", reason, "It is."];
const isNot = (type: string, reason: string, message = "It is not."): Condition => {
  return [type, "False", reason, message];
};
const READY = [is("Synced", "UpToDate"), is("Ready", "UpToDate")];
const missing = (reason: string) => [isNot("Synced", reason, "Create it."), isNot("Ready", reason)];

/** An object with the conditions that the operator reports. */
async function put<T extends KubeObject>(
  kind: Kind<T>,
  name: string,
  spec: object,
  states: readonly Condition[],
  status: object = {},
): Promise<void> {
  const metadata = { namespace: "dev", name };
  await world.person.create(kind as Kind, { metadata, spec } as KubeObject);
  const conditions = states.map(([type, value, reason, message]) => {
    return { type, status: value, reason, message, lastTransitionTime: "2025-12-31T23:55:00Z" };
  });
  await world.person.patchStatus(kind, metadata, { status: { ...status, conditions } });
}

const ofCoder = { controlPlaneRef: { name: "coder" } };
const organization = (name: string, states = READY, spec: object = {}) =>
  put(CoderOrganization, name, { ...ofCoder, ...spec }, states, { id: `id-of-${name}` });
const group = (name: string, states = READY, spec: object = {}) =>
  put(CoderGroup, name, { ...ofCoder, ...spec }, states, { id: `id-of-${name}` });

const person = () => ({ transport: world.api, clock: world.clock, namespace: "dev", columns: 120 });
const run = (...words: string[]) => kubectlCoder(person(), ...words);

async function report(): Promise<ControlPlaneReport> {
  const { controlPlanes }: StatusReport = JSON.parse((await run("status", "-o", "json")).out);
  const [first] = controlPlanes;
  if (!first) throw new Error("the report has no control plane");
  return first;
}

async function chain(name: string): Promise<readonly Link[]> {
  return JSON.parse((await run("why", name, "-o", "json")).out).chain;
}

describe("status of a control plane", () => {
  test("lists its organizations and groups, those that need a person first", async () => {
    await organization("research", READY, { name: "Research-Lab" });
    await group("analysts");
    await group("builders", missing("OrganizationMissing"), { organizationName: "later" });
    await group("chemists", [
      isNot("Synced", "ExistsAlready", "Set adopt."),
      isNot("Ready", "ExistsAlready"),
    ]);
    const { code, out } = await run("status");
    expect(code).toBe(3);
    const lines = out.split("\n");
    const first = lines.indexOf("ORGANIZATIONS");
    expect(lines.slice(first, first + 9)).toEqual([
      "ORGANIZATIONS",
      "     NAME      READY     NAME IN CODER",
      "  ✓  research  UpToDate  Research-Lab",
      "",
      "GROUPS",
      "     NAME      READY                NAME IN CODER  ORGANIZATION",
      "  ✗  chemists  ExistsAlready        chemists       default",
      "  ✗  builders  OrganizationMissing  builders       later",
      "  ✓  analysts  UpToDate             analysts       default",
    ]);
    expect(out).toContain("✗ group/chemists Synced: ExistsAlready for 5m");
  });

  test("has their names, IDs and conditions for scripts, and their events", async () => {
    await organization("research");
    await group("analysts", READY, { organizationName: "research" });
    const { apiVersion, kind } = CoderGroup;
    await world.person.create(CoreEvent, {
      metadata: { namespace: "dev", name: "analysts.1" },
      involvedObject: { apiVersion, kind, namespace: "dev", name: "analysts" },
      ...{ type: "Normal", reason: "DriftCorrected", message: "Corrected it." },
    });
    const { organizations, groups, events } = await report();
    const ready = { status: "True", reason: "UpToDate", message: "It is." };
    expect(organizations).toEqual([
      { name: "research", ready, paused: false, nameInCoder: "research", id: "id-of-research" },
    ]);
    expect(groups).toEqual([
      expect.objectContaining({ name: "analysts", id: "id-of-analysts", organization: "research" }),
    ]);
    expect(events).toMatchObject([{ object: "group/analysts", reason: "DriftCorrected" }]);
  });

  test("shows the first 20 of many, and says how many more there are", async () => {
    for (let number = 0; number < 25; number++) await group(`group-${number}`);
    await group("zoologists", missing("ExistsAlready"));
    const { out } = await run("status");
    expect(out.match(/^ {2}✓ {2}group-/gm)).toHaveLength(19);
    expect(out).toContain("✗  zoologists");
    expect(out).toContain("  6 more are in the output of -o json.");
    expect((await report()).groups).toHaveLength(26);
  });

  test("shows the first 20 of many problems", async () => {
    for (let number = 0; number < 30; number++) await group(`group-${number}`, missing("ExistsAlready"));
    const { out } = await run("status");
    expect(out.match(/✗ group\/group-\d+ Synced: ExistsAlready/g)).toHaveLength(20);
    expect((await report()).problems).toHaveLength(30);
  });

  test("leaves out those of another control plane, whose problems come last", async () => {
    await put(CoderGroup, "lost", { controlPlaneRef: { name: "gone" } }, [
      isNot("ControlPlaneReady", "NotFound", "Create it."),
    ]);
    const { out } = await run("status");
    expect((await report()).groups).toEqual([]);
    expect(out).toMatch(/WITHOUT THEIR CONTROL PLANE\n {2}✗ group\/lost ControlPlaneReady: NotFound/);
  });

  test("says what a person may not list", async () => {
    const transport = limited(world.api, ({ path }) => !/coderorganizations|codergroups/.test(path));
    const { code, out } = await kubectlCoder({ ...person(), transport }, "status");
    expect(code).toBe(0);
    expect(out).toContain('You may not list coderorganizations in namespace "dev".');
    expect(out).toContain('You may not list codergroups in namespace "dev".');
  });
});

describe("why", () => {
  test("leads from a group to its organization, and from there to the control plane", async () => {
    await put(CoderControlPlane, "other", {}, [isNot("OperatorAccessReady", "DatabaseUnreachable")]);
    const inOther = { controlPlaneRef: { name: "other" } };
    await organization("research", [isNot("OperatorAccessReady", "OperatorAccessNotReady")], inOther);
    // An organization of the same name at another control plane explains nothing.
    await organization("namesake", missing("ExistsAlready"), { name: "research" });
    await group("analysts", missing("OrganizationMissing"), { ...inOther, organizationName: "Research" });
    expect(await chain("group/analysts")).toMatchObject([
      { depth: 0, object: "group/analysts", state: "Synced: OrganizationMissing", severity: "waiting" },
      { depth: 1, object: "organization/research", state: "OperatorAccessReady: OperatorAccessNotReady" },
      { depth: 2, object: "controlplane/other", state: "OperatorAccessReady: DatabaseUnreachable" },
    ]);
  });

  test("leads from a mapping to the group that coderd lacks", async () => {
    const idpSync = { groups: { field: "groups", mapping: { claimed: ["Builders"] } } };
    await organization("research", missing("GroupsMissing"), { idpSync });
    await group("builders", missing("NotEntitled"), { organizationName: "research" });
    await put(CoderGroup, "elsewhere", { ...ofCoder, name: "builders" }, missing("Rejected"));
    expect(await chain("organization/research")).toMatchObject([
      { object: "organization/research", state: "Synced: GroupsMissing" },
      { object: "group/builders", state: "Synced: NotEntitled", message: "Create it." },
    ]);
  });

  test("leads from the sync of a control plane to the organization that coderd lacks", async () => {
    const organizationSync = { field: "groups", mapping: { claimed: ["research"] } };
    await put(CoderControlPlane, "syncing", { organizationSync }, [
      is("Ready", "Serving"),
      isNot("OrganizationSyncReady", "OrganizationMissing"),
    ]);
    await organization("research", missing("NotEntitled"), { controlPlaneRef: { name: "syncing" } });
    expect(await chain("controlplane/syncing")).toMatchObject([
      { object: "controlplane/syncing", state: "OrganizationSyncReady: OrganizationMissing" },
      { object: "organization/research", state: "Synced: NotEntitled" },
    ]);
  });

  test("ends where objects wait for each other", async () => {
    const organizationSync = { field: "groups", mapping: { claimed: ["research"] } };
    await put(CoderControlPlane, "round", { organizationSync }, [
      isNot("OrganizationSyncReady", "OrganizationMissing"),
    ]);
    await organization("research", [isNot("ControlPlaneReady", "NotReady")], {
      controlPlaneRef: { name: "round" },
    });
    expect((await chain("controlplane/round")).map(({ object }) => object)).toEqual([
      "controlplane/round",
      "organization/research",
    ]);
  });

  test("answers with the first admin, and not with what waits for it", async () => {
    const firstAdmin = { email: "admin@example.com" };
    await put(CoderControlPlane, "fresh", { firstAdmin }, [
      isNot("ExposureReady", "WaitingForFirstAdmin"),
      isNot("FirstAdminReady", "PasswordRejected", "Put a stronger password there."),
    ]);
    const { code, out } = await run("why", "controlplane/fresh", "-o", "json");
    const { answer, chain: links } = JSON.parse(out);
    expect(code).toBe(3);
    expect(answer).toBe("controlplane/fresh: Put a stronger password there.");
    expect(links).toMatchObject([
      { state: "FirstAdminReady: PasswordRejected", severity: "wrong" },
      { state: "ExposureReady: WaitingForFirstAdmin", severity: "waiting" },
    ]);
  });

  test("says why an entity can't be deleted, without a look for pods", async () => {
    const refused = isNot("Ready", "DeletionRefused", "coderd does not delete the organization.");
    await organization("research", [is("Synced", "UpToDate"), refused]);
    expect(await chain("organization/research")).toEqual([
      expect.objectContaining({ state: "Ready: DeletionRefused", message: refused[3] }),
    ]);
  });
});

test("restart refuses an object without pods, and changes nothing", async () => {
  await group("analysts");
  const { code, error } = await run("restart", "group/analysts");
  expect({ code, error }).toEqual({
    code: 1,
    error: "kubectl coder: group/analysts has no pods to restart.\n",
  });
  const { spec } = await world.person.get(CoderGroup, { namespace: "dev", name: "analysts" });
  expect(spec).not.toHaveProperty("podAnnotations");
});

test("a bundle has the objects, without email addresses and values of claims", async () => {
  const dir = await mkdtemp(join(tmpdir(), "coder-k8s-bundle-"));
  const [email, value] = ["ada@example.com", "cn=secret-project,dc=example"];
  const mapping = { [value]: ["builders"], [`${value}-leads`]: [] };
  const firstAdmin = { email, username: "ada" };
  await put(CoderControlPlane, "fresh", { firstAdmin, organizationSync: { field: "groups", mapping } }, [], {
    firstAdmin: { ...firstAdmin, state: "Created" },
  });
  await organization("research", READY, { idpSync: { groups: { field: "groups", mapping } } });
  await group("builders", READY, { members: ["ada"] });
  const annotated = { annotations: { "coder.com/entity-id": "id-of-builders" } };
  const ref = { namespace: "dev", name: "builders" };
  await world.person.mergePatch(CoderGroup, ref, { metadata: annotated });
  const file = join(dir, "report.zip");
  expect((await run("bundle", "--file", file)).code).toBe(0);
  const files = await unzipped(file);
  await rm(dir, { recursive: true });
  const objectAt = (path: string) => parse(files.get(`objects/dev/${path}.yaml`) ?? "");
  expect(objectAt("coderorganization/research").spec.idpSync.groups).toEqual({
    field: "groups",
    mapping: { "[redacted] 1": ["builders"], "[redacted] 2": [] },
  });
  expect(objectAt("codergroup/builders").metadata.annotations).toEqual(annotated.annotations);
  expect(objectAt("codercontrolplane/fresh").status.firstAdmin.email).toBe("[redacted]");
  for (const [path, text] of files) {
    expect(text, path).not.toContain(value);
    expect(text, path).not.toContain(email);
  }
});
