import { controllerReference, Secret } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import type { ProvisionerStatus } from "../../../src/api/v1alpha1/provisioner.ts";
import { openStage, type ProvisionerStage } from "../../support/stages/provisioner.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const TWO_MINUTES = 2 * 60_000;

let stage: ProvisionerStage;
let coderd: CoderdDeployment;
beforeAll(async () => {
  stage = await openStage(new MemoryWorld(), "drift");
  coderd = await stage.controlPlane("coder", { organizations: ["team"] });
});
afterAll(() => stage[Symbol.asyncDispose]());

const keysOf = (name: string, at = coderd) => at.keys.filter((key) => key.name.startsWith(name));

/** Makes the control plane's token one that the operator made, as it is outside of this stage. */
async function markAsOperators(controlPlane: string): Promise<void> {
  const owner = await stage.get(CoderControlPlane, controlPlane);
  await stage.person.mergePatch(Secret, stage.ref(`${controlPlane}-operator-token`), {
    metadata: {
      labels: { "app.kubernetes.io/managed-by": "coder-k8s" },
      ownerReferences: [controllerReference(owner, CoderControlPlane)],
    },
  });
}

/** Waits for another key in status; the pods of the old one still run. */
function untilRotated(name: string, before: ProvisionerStatus): Promise<ProvisionerStatus> {
  return stage.eventually(async () => {
    const { status } = await stage.get(CoderProvisioner, name);
    expect(status?.provisionerKeyID).toBeDefined();
    expect(status?.provisionerKeyID).not.toBe(before.provisionerKeyID);
    return status ?? {};
  });
}

/** What every rotation keeps to: two keys while pods are replaced, one after. */
async function expectRotation(name: string, before: ProvisionerStatus): Promise<ProvisionerStatus> {
  const during = await untilRotated(name, before);
  expect(coderd.keys.map(({ id }) => id)).toContain(before.provisionerKeyID);
  expect(during.retiredKeys).toMatchObject([{ id: before.provisionerKeyID }]);
  await stage.untilCondition(name, "ProvisionerKeyReady", { status: "True", reason: "Rotating" });
  await stage.rollOut(name);
  const after = await stage.untilSettled(name);
  expect(after.retiredKeys).toBeUndefined();
  expect(coderd.keys.map(({ id }) => id)).not.toContain(before.provisionerKeyID);
  return after;
}

describe("drift rotates the key: the new one beside the old, which is deleted when the new pods are ready", () => {
  test("tags", async () => {
    const before = await stage.serve("tags", { tags: { a: "1" } });
    await stage.change("tags", { tags: { a: "2", b: "3" } });
    const after = await expectRotation("tags", before);
    expect(keysOf("tags")).toMatchObject([{ tags: { a: "2", b: "3" } }]);
    expect(after.provisionerKeyName).toMatch(/^tags-[0-9a-f]{8}$/);
    const reported = (await stage.events("tags")).map(({ reason }) => reason);
    expect(reported.filter((reason) => reason?.includes("Key")).sort()).toEqual([
      "KeyCreated",
      "KeyRotated",
      "OldKeyDeleted",
    ]);
  });

  const requestFor =
    (name: string) =>
    (at: string | null): Promise<unknown> =>
      stage.person.mergePatch(CoderProvisioner, stage.ref(name), {
        metadata: { annotations: { "coder.com/rotate-at": at } },
      });

  test("a request by the annotation coder.com/rotate-at, once for each value", async () => {
    const request = requestFor("asked");
    let before = await stage.serve("asked");
    for (const at of ["2026-01-01T00:00:00Z", "x".repeat(100_000)]) {
      await request(at);
      before = await expectRotation("asked", before);
      await stage.timePasses(TWO_MINUTES);
      expect((await stage.untilSettled("asked")).provisionerKeyID).toBe(before.provisionerKeyID);
    }
    await request(null);
    await stage.timePasses(TWO_MINUTES);
    expect((await stage.untilSettled("asked")).provisionerKeyID).toBe(before.provisionerKeyID);
    const rotated = (await stage.events("asked")).filter(({ reason }) => reason === "KeyRotated");
    expect(rotated.map(({ message }) => message).join()).toContain("a new key was requested");
  });

  test("requests during a rotation are served together by one more after it", async () => {
    const request = requestFor("hurried");
    const before = await stage.serve("hurried");
    await request("0");
    const during = await untilRotated("hurried", before);
    for (const at of ["1", "2", "3"]) {
      await request(at);
      await stage.timePasses(TWO_MINUTES);
    }
    expect(keysOf("hurried")).toHaveLength(2);
    await stage.rollOut("hurried");
    const last = await untilRotated("hurried", during);
    await stage.rollOut("hurried");
    expect((await stage.untilSettled("hurried")).provisionerKeyID).toBe(last.provisionerKeyID);
    expect(keysOf("hurried")).toHaveLength(1);
  });

  test("organization", async () => {
    const before = await stage.serve("moved");
    await stage.change("moved", { organizationName: "team" });
    await expectRotation("moved", before);
    expect(keysOf("moved")).toMatchObject([{ name: "moved", organization: coderd.organizations[1]?.id }]);
  });

  test("another name of the same organization does not count as drift", async () => {
    const before = await stage.serve("alias");
    await stage.change("alias", { organizationName: "coder" });
    const after = await stage.eventually(async () => {
      const status = await stage.untilSettled("alias");
      expect(status.organizationName).toBe("coder");
      return status;
    });
    expect(after.provisionerKeyID).toBe(before.provisionerKeyID);
  });

  test("key name", async () => {
    const before = await stage.serve("named");
    await stage.change("named", { key: { name: "Chosen" } });
    const after = await expectRotation("named", before);
    expect(after.provisionerKeyName).toBe("chosen");
  });

  test("control plane: the old key is deleted at the old coderd", async () => {
    const other = await stage.controlPlane("other");
    const before = await stage.serve("wanderer");
    await stage.change("wanderer", { controlPlaneRef: { name: "other" } });
    await untilRotated("wanderer", before);
    expect(keysOf("wanderer")).toHaveLength(1);
    expect(keysOf("wanderer", other)).toHaveLength(1);
    await stage.rollOut("wanderer");
    const after = await stage.untilSettled("wanderer");
    expect(keysOf("wanderer")).toEqual([]);
    expect(after.controlPlaneURL).toBe(stage.urlOf("other"));
    const { spec } = await stage.template("wanderer");
    expect(spec?.containers[0]?.env?.[0]?.value).toBe(stage.urlOf("other"));
  });

  test("URL of the control plane: the old key is deleted at the new address of the same coderd", async () => {
    const lonely = await stage.controlPlane("movable");
    const before = await stage.serve("follower", { controlPlaneRef: { name: "movable" } });
    const url = `http://movable.${stage.namespace}.svc.cluster.local:8080`;
    await stage.person.mergePatch(CoderControlPlane, stage.ref("movable"), {
      spec: { service: { port: 8080 } },
    });
    await untilRotated("follower", before);
    expect(keysOf("follower", lonely)).toHaveLength(2);
    await stage.rollOut("follower");
    const after = await stage.untilSettled("follower");
    expect(after.controlPlaneURL).toBe(url);
    expect(keysOf("follower", lonely)).toMatchObject([{ id: after.provisionerKeyID }]);
  });

  test("but not a forged URL in a status: no token is sent there", async () => {
    const [known, evil] = [await stage.controlPlane("steady"), stage.addCoderd("evil.example.com")];
    await markAsOperators("steady");
    const before = await stage.serve("unmoved", { controlPlaneRef: { name: "steady" } });
    await stage.publish("steady", { url: "http://evil.example.com" });
    await stage.person.patchStatus(CoderProvisioner, stage.ref("unmoved"), {
      status: { controlPlaneURL: "http://evil.example.com" },
    });
    await stage.change("unmoved", { tags: { moved: "no" } });
    await untilRotated("unmoved", before);
    await stage.rollOut("unmoved");
    const after = await stage.untilSettled("unmoved");
    expect(after.controlPlaneURL).toBe(stage.urlOf("steady"));
    expect(keysOf("unmoved", known)).toHaveLength(1);
    expect(evil.calls).toEqual([]);
  });

  test("drift in the middle of a rotation, and back again, ends with one key", async () => {
    const before = await stage.serve("restless", { tags: { a: "1" } });
    await stage.change("restless", { tags: { a: "2" } });
    const second = await untilRotated("restless", before);
    await stage.change("restless", { tags: { a: "1" } });
    await untilRotated("restless", second);
    await stage.rollOut("restless");
    const after = await stage.untilSettled("restless");
    expect(keysOf("restless")).toMatchObject([{ id: after.provisionerKeyID, tags: { a: "1" } }]);
  });
});

describe("a name that the user fixed", () => {
  test("is reused, and an event says that daemons reconnect", async () => {
    const before = await stage.serve("pinned", { key: { name: "pinned" }, tags: { a: "1" } });
    await stage.change("pinned", { tags: { a: "2" } });
    await untilRotated("pinned", before);
    await stage.rollOut("pinned");
    await stage.untilSettled("pinned");
    expect(keysOf("pinned")).toMatchObject([{ name: "pinned", tags: { a: "2" } }]);
    const replaced = (await stage.events("pinned")).find(({ reason }) => reason === "KeyReplaced");
    expect(replaced?.message).toContain("daemons reconnect");
  });

  test("of a foreign key is refused, and that key is kept", async () => {
    const organization = coderd.organizations[0]?.id ?? "";
    const foreign = coderd.createKey(organization, "foreign", {});
    await stage.create("squatter", { key: { name: "foreign" } });
    const { message } = await stage.untilCondition("squatter", "ProvisionerKeyReady", {
      status: "False",
      reason: "KeyNameTaken",
    });
    expect(message).toContain("spec.key.name");
    expect(coderd.keys).toContainEqual(foreign);
    // It would look for that key in the time of other tests, which count what is asked of coderd.
    await stage.person.delete(CoderProvisioner, stage.ref("squatter"));
    await stage.untilGone(CoderProvisioner, "squatter");
  });
});

describe("a key that is changed behind our back is found within two minutes", () => {
  test("deleted", async () => {
    const before = await stage.serve("vanished");
    coderd.deleteKey(keysOf("vanished")[0] ?? expect.fail("no key"));
    await stage.timePasses(TWO_MINUTES);
    await untilRotated("vanished", before);
    await stage.rollOut("vanished");
    const after = await stage.untilSettled("vanished");
    expect(keysOf("vanished")).toMatchObject([{ id: after.provisionerKeyID }]);
  });

  test("with other tags", async () => {
    const before = await stage.serve("retagged", { tags: { a: "1" } });
    coderd.keys = coderd.keys.map((key) =>
      key.id === before.provisionerKeyID ? { ...key, tags: { a: "other" } } : key,
    );
    await stage.timePasses(TWO_MINUTES);
    const after = await expectRotation("retagged", before);
    expect(keysOf("retagged")).toMatchObject([{ id: after.provisionerKeyID, tags: { a: "1" } }]);
  });

  test("and looking costs one request for the key and one for the daemons", async () => {
    await stage.serve("calm");
    await stage.untilIdle();
    const before = coderd.calls.length;
    await stage.timePasses(TWO_MINUTES);
    const organization = coderd.organizations[0]?.id;
    await stage.eventually(() => {
      const calls = coderd.calls.slice(before).filter(({ request }) => !request.includes("entitlements"));
      expect(calls.length).toBeGreaterThan(0);
      for (const { request } of calls)
        expect(request).toMatch(/^GET \/api\/v2\/organizations\/[^/]+\/provisioner(keys|daemons)$/);
      return organization;
    });
  });
});

test("what status does not say is filled in, each field by itself, without a rotation", async () => {
  const before = await stage.serve("forgetful");
  const fields = [
    "organizationName",
    "organizationID",
    "provisionerKeyName",
    "provisionerKeyID",
    "tagsHash",
    "controlPlaneRefName",
    "controlPlaneURL",
    "secretRef",
    "credentialsSecretRef",
  ] as const;
  for (const field of fields) {
    await stage.person.patchStatus(CoderProvisioner, stage.ref("forgetful"), { status: { [field]: null } });
    await stage.touch("forgetful", field);
    await stage.eventually(async () => {
      const { status } = await stage.get(CoderProvisioner, "forgetful");
      expect(status?.[field], field).toEqual(before[field]);
    });
  }
  expect(keysOf("forgetful")).toMatchObject([{ id: before.provisionerKeyID }]);
  expect(coderd.everyKey.filter((plaintext) => plaintext === keysOf("forgetful")[0]?.plaintext)).toHaveLength(
    1,
  );
});

test("a status that was lost as a whole is found again", async () => {
  const before = await stage.serve("restored", { tags: { a: "1" } });
  await stage.change("restored", { tags: { a: "2" } });
  await untilRotated("restored", before);
  await stage.rollOut("restored");
  const rotated = await stage.untilSettled("restored");
  await stage.operator.stop();
  const { status } = await stage.get(CoderProvisioner, "restored");
  const nothing = Object.fromEntries(Object.keys(status ?? {}).map((field) => [field, null]));
  await stage.person.patchStatus(CoderProvisioner, stage.ref("restored"), { status: nothing });
  await stage.startOperator();
  await stage.eventually(async () => {
    const after = await stage.untilSettled("restored");
    expect(after.provisionerKeyID).toBe(rotated.provisionerKeyID);
  });
  expect(keysOf("restored")).toHaveLength(1);
});
