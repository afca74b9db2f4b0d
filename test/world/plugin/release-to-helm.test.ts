import { kind, Pod, ReplicaSet, Service } from "kube-controller-runtime";
import { beforeEach, describe, expect, test } from "vitest";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
// The command loads it in real time, which virtual time does not wait for.
import "../../../src/plugin/commands/release-to-helm/run.ts";
import { kubectlCoder } from "../../support/plugin.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const ref = (name = "coder") => ({ namespace: "dev", name });
const ours = {
  "app.kubernetes.io/name": "coder-control-plane",
  "app.kubernetes.io/instance": "coder",
  "app.kubernetes.io/managed-by": "coder-k8s",
};

let world: MemoryWorld;
beforeEach(() => {
  world = new MemoryWorld();
  const slices = { kind: "EndpointSlice", plural: "endpointslices" };
  for (const served of [ReplicaSet, kind("discovery.k8s.io/v1", slices)]) world.api.install(served);
});

const releaseToHelm = (...words: string[]) =>
  kubectlCoder(
    { transport: world.api, clock: world.clock, namespace: "dev" },
    "release-to",
    "helm",
    ...words,
  );

describe("without an operator", () => {
  beforeEach(async () => {
    const { metadata } = await world.person.create(CoderControlPlane, { metadata: ref() });
    const owner = { apiVersion: CoderControlPlane.apiVersion, kind: CoderControlPlane.kind, name: "coder" };
    const ownerReferences = [{ ...owner, uid: metadata.uid, controller: true }];
    await world.person.create(Service, {
      metadata: { ...ref(), labels: ours, ownerReferences },
      spec: { selector: ours },
    });
    await world.person.create(Pod, {
      metadata: { ...ref("coder-1"), labels: ours },
      spec: { containers: [{ name: "coder", image: "coder:v2.26.0" }] },
    });
    await world.person.create(CoderProvisioner, {
      metadata: ref("linux"),
      spec: { controlPlaneRef: { name: "coder" } },
    });
  });

  test("it still hands over, and explains the effect on deletion and on pools", async () => {
    const { code, out, error } = await world.finish(
      releaseToHelm("coder", "--release", "prod", "--name-override", "dev-coder"),
    );
    expect({ code, error }).toEqual({ code: 0, error: "" });
    expect(out).toContain("No operator confirmed the pause");
    expect(out).toContain("The operator still manages provisioner/linux.");
    const selector = { "app.kubernetes.io/name": "dev-coder", "app.kubernetes.io/instance": "prod" };
    const { metadata, spec } = await world.person.get(Service, ref());
    expect(spec?.selector).toEqual(selector);
    expect(metadata.ownerReferences ?? []).toEqual([]);
    expect(metadata.annotations).toMatchObject({
      "meta.helm.sh/release-name": "prod",
      "meta.helm.sh/release-namespace": "dev",
    });
    expect((await world.person.get(Pod, ref("coder-1"))).metadata.labels).toEqual({
      ...selector,
      "app.kubernetes.io/managed-by": "Helm",
      "coder.com/released-to": "helm",
    });
    const { metadata: object } = await world.person.get(CoderControlPlane, ref());
    expect(object.annotations).toMatchObject({ "coder.com/paused": "true" });
  });
});

describe("what could not keep serving is refused, and nothing is changed", () => {
  const upgrading = { type: "Upgrading", status: "True", reason: "Migrating" } as const;
  const whole = { ...upgrading, message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };

  test.each([
    [
      "a name that the chart can't give",
      "blue",
      [],
      "only a control plane with that name can keep its address",
    ],
    ["an upgrade in progress", "coder", [whole], "is in progress (Migrating). Try again after it has ended."],
  ])("%s", async (_case, name, conditions, why) => {
    await world.person.create(CoderControlPlane, { metadata: ref(name) });
    await world.person.patchStatus(CoderControlPlane, ref(name), { status: { conditions } });
    const { code, error } = await releaseToHelm(name);
    expect(code).toBe(1);
    expect(error).toContain(why);
    expect((await world.person.get(CoderControlPlane, ref(name))).metadata.annotations).toBeUndefined();
  });

  test("another kind", async () => {
    await world.person.create(CoderProvisioner, {
      metadata: ref("linux"),
      spec: { controlPlaneRef: { name: "coder" } },
    });
    expect((await releaseToHelm("provisioner/linux")).error).toContain("is not a CoderControlPlane.");
  });
});
