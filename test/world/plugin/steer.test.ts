import { beforeEach, expect, test } from "vitest";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { kubectlCoder, limited } from "../../support/plugin.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let world: MemoryWorld;
beforeEach(async () => {
  world = new MemoryWorld();
  await world.person.create(CoderControlPlane, { metadata: ref("coder") });
  await world.person.create(CoderProvisioner, {
    metadata: ref("coder"),
    spec: { controlPlaneRef: { name: "coder" }, podAnnotations: { team: "blue" } },
  });
});

const ref = (name: string) => ({ namespace: "dev", name });
const run = (...words: string[]) =>
  kubectlCoder({ transport: world.api, clock: world.clock, namespace: "dev" }, ...words);

test("restart sets kubectl's annotation on the pods and keeps those of others", async () => {
  expect((await run("restart", "provisioner/coder")).out).toMatch(/^provisioner\/coder restarted\n/);
  const { spec } = await world.person.get(CoderProvisioner, ref("coder"));
  expect(spec?.podAnnotations).toEqual({
    team: "blue",
    "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z",
  });
});

test.each([
  ["provisioner", CoderProvisioner],
  ["token", CoderControlPlane],
])(
  "rotate %s sets the annotation that the operator honors, on the right object alone",
  async (what, kind) => {
    expect(await run("rotate", what, "coder")).toMatchObject({ code: 0 });
    for (const each of [CoderProvisioner, CoderControlPlane]) {
      const { metadata } = await world.person.get<CoderProvisioner | CoderControlPlane>(each, ref("coder"));
      expect(metadata.annotations?.["coder.com/rotate-at"]).toBe(
        each === kind ? "2026-01-01T00:00:00Z" : undefined,
      );
    }
  },
);

test("a name that two kinds have must be repeated with its kind", async () => {
  expect((await run("pause", "coder")).error).toBe(
    'kubectl coder: Several objects in namespace "dev" have that name: use controlplane/coder or provisioner/coder.\n',
  );
});

test("a write that is refused is one line with exit code 1", async () => {
  const transport = limited(world.api, ({ method }) => method === "GET");
  const person = { transport, clock: world.clock, namespace: "dev" };
  for (const words of [
    ["pause", "ccp/coder"],
    ["restart", "ccp/coder"],
    ["rotate", "token", "coder"],
  ]) {
    const { code, error } = await kubectlCoder(person, ...words);
    expect(code).toBe(1);
    expect(error).toMatch(/^kubectl coder: patch CoderControlPlane "dev\/coder": forbidden: no rights\n$/);
  }
});

test("a cluster that can't be reached is named with the cause", async () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 192.0.2.1:6443"), { code: "ECONNREFUSED" });
  const transport = { send: () => Promise.reject(refused), close: async () => {} };
  const { code, error } = await world.finish(
    kubectlCoder({ transport, clock: world.clock, namespace: "dev" }, "pause", "provisioner/linux"),
  );
  expect(code).toBe(1);
  expect(error).toMatch(/could not be reached: connect ECONNREFUSED 192\.0\.2\.1:6443\n$/);
});

test("an error can't move the cursor either", async () => {
  const hostile = "\x1b[2J\u202enothing here\u009bm";
  const { error } = await run("pause", `ccp/${hostile}`);
  expect(error).toMatch(/^kubectl coder: .*nothing here.*\n$/);
  expect(error.trimEnd()).not.toMatch(/\p{Cc}|\u202e/u);
});

test.each([
  [{ disabled: true }, "spec.operatorAccess.disabled: the operator has no token there."],
  [
    { tokenSecretRef: { name: "mine", key: "token" } },
    'names your own token: create another one in Coder and store it in Secret "mine".',
  ],
])("rotate token refuses what the operator would not do: %o", async (operatorAccess, why) => {
  await world.person.mergePatch(CoderControlPlane, ref("coder"), { spec: { operatorAccess } });
  const { code, out, error } = await run("rotate", "token", "coder");
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(error).toContain(why);
  const { metadata } = await world.person.get(CoderControlPlane, ref("coder"));
  expect(metadata.annotations?.["coder.com/rotate-at"]).toBeUndefined();
});

test.each([
  ["restart", "provisioner/coder"],
  ["rotate", "provisioner", "coder"],
])("%s says that a paused object waits", async (...words) => {
  await run("pause", "provisioner/coder");
  expect((await run(...words)).out).toContain(
    "It is paused: this happens after kubectl coder resume provisioner/coder -n dev",
  );
});
