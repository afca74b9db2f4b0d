import { beforeAll, expect, test } from "vitest";
import { CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { kubectlCoder, limited } from "../../support/plugin.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const world = new MemoryWorld();
const me = { transport: world.api, clock: world.clock, namespace: "dev" };
const ref = { namespace: "dev", name: "linux" };

beforeAll(async () => {
  await world.person.create(CoderProvisioner, {
    metadata: ref,
    spec: { controlPlaneRef: { name: "coder" } },
  });
});

const annotations = async () => (await world.person.get(CoderProvisioner, ref)).metadata.annotations;

test("an object is paused and resumed by its annotation, once", async () => {
  expect(await kubectlCoder(me, "pause", "linux")).toMatchObject({
    code: 0,
    out: "provisioner/linux paused\n",
  });
  expect(await annotations()).toEqual({ "coder.com/paused": "true" });
  expect((await kubectlCoder(me, "pause", "cprov/linux")).out).toBe("provisioner/linux was paused already\n");
  const resumed = await kubectlCoder(me, "resume", "provisioner/linux", "-o", "json");
  expect(JSON.parse(resumed.out)).toEqual({ object: "provisioner/linux", did: "resumed", changed: true });
  expect((await annotations()) ?? {}).toEqual({});
});

test("a missing object, an unknown kind and a missing permission are one line each", async () => {
  const [missing, strange, forbidden] = await Promise.all([
    kubectlCoder(me, "pause", "missing"),
    kubectlCoder(me, "pause", "pod/linux"),
    kubectlCoder({ ...me, transport: limited(world.api, () => false) }, "pause", "proxy/linux"),
  ]);
  expect(missing).toEqual({
    code: 1,
    out: "",
    error: 'kubectl coder: There is no "missing" in namespace "dev".\n',
  });
  expect(strange.error).toBe(
    'kubectl coder: Unknown kind "pod"; use one of controlplane, provisioner, proxy, organization, group.\n',
  );
  expect(forbidden.error).toBe('kubectl coder: You may not get coderworkspaceproxies in namespace "dev".\n');
});
