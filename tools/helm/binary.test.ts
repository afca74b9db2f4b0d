import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeMachine } from "../../packages/kube-controller-runtime/test/support/fake-machine.ts";
import { helmBinary } from "./binary.ts";

const says = (version: string) => `#!/bin/sh\necho "${version}+gabcdef0"\n`;

let machine: FakeMachine;
beforeEach(() => {
  machine = new FakeMachine();
  machine.writeExecutable("templates/helm", says("v4.3.1"));
});
afterEach(() => machine.remove());

const find = (env: NodeJS.ProcessEnv = {}) =>
  helmBinary({ ...machine.context(), env: { ...machine.env, ...env } });

describe("HELM", () => {
  test("names the file to use", async () => {
    machine.writeExecutable("my-helm", says("v4.3.0"));
    const file = join(machine.folder, "my-helm");
    expect(await find({ HELM: file })).toBe(file);
    expect(machine.built).toEqual([]);
  });

  test("is refused when it is another minor version", async () => {
    machine.writeExecutable("my-helm", says("v3.19.2"));
    await expect(find({ HELM: join(machine.folder, "my-helm") })).rejects.toThrow(
      /HELM can't be used: .*my-helm is version v3\.19\.2, but tools\/helm\/go\.mod pins v4\.3\.\d+; unset or correct it/,
    );
  });
});

describe("PATH", () => {
  test("a helm of the pinned minor version is used as it is", async () => {
    machine.writeExecutable("bin/helm", says("v4.3.9"));
    expect(await find()).toBe(join(machine.folder, "bin/helm"));
    expect(machine.built).toEqual([]);
  });

  test("a helm of another version is passed over, also for one further down", async () => {
    mkdirSync(join(machine.folder, "other"));
    machine.writeExecutable("bin/helm", says("v3.19.2"));
    machine.writeExecutable("other/helm", says("v4.3.0"));
    const PATH = `${machine.env.PATH}:${machine.folder}/other`;
    expect(await find({ PATH })).toBe(join(machine.folder, "other/helm"));
  });
});

describe("the build", () => {
  test("happens once: later runs find helm in the cache", async () => {
    const first = await find();
    expect(await find()).toBe(first);
    expect(machine.built).toEqual(["helm"]);
  });

  test("says which version it builds", async () => {
    await find();
    expect(machine.lines).toContainEqual(expect.stringMatching(/^building helm v4\.3\.\d+ with Go/));
  });

  test("without Go, one sentence says what to do", async () => {
    await expect(find({ PATH: "/nowhere" })).rejects.toThrow(
      "helm 4.3 is not available: it is not on the PATH and Go is not installed to build it; " +
        "install helm 4.3 or Go, or set HELM to the file of a helm 4.3.",
    );
  });
});
