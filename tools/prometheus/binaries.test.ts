import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeMachine } from "../../packages/kube-controller-runtime/test/support/fake-machine.ts";
import { prometheusBinaries, releaseOf } from "./binaries.ts";

let machine: FakeMachine;
beforeEach(() => {
  machine = new FakeMachine();
  for (const name of ["promtool", "prometheus"]) says(name, "3.15.0");
});
afterEach(() => machine.remove());

function says(name: string, version: string): void {
  machine.writeExecutable(`templates/${name}`, `#!/bin/sh\necho "${name}, version ${version}"\n`);
}

const find = (env = machine.env) => prometheusBinaries({ ...machine.context(), env });

test("Prometheus and promtool are built once; later runs find them in the cache", async () => {
  const first = await find();
  expect(await find()).toEqual(first);
  expect(machine.built).toEqual(["promtool", "prometheus"]);
});

test("a build that calls itself another version is not kept", async () => {
  says("prometheus", "2.53.0");
  await expect(find()).rejects.toThrow(/prometheus is version 2\.53\.0, not 3\.15\.\d+/);
});

test("without Go, one sentence says what to do", async () => {
  await expect(find({ ...machine.env, PATH: "/nowhere" })).rejects.toThrow(
    /which is not installed; install Go/,
  );
});

test("the version of the module is that of the release in other words", () => {
  expect([releaseOf("v0.315.0"), releaseOf("v0.305.12")]).toEqual(["3.15.0", "3.5.12"]);
});
