import { writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeMachine } from "../../packages/kube-controller-runtime/test/support/fake-machine.ts";
import { cachedCoderBinaries, coderBinaries } from "./binaries.ts";

const says = (line: string) => `#!/bin/sh\necho "${line}"\n`;

let machine: FakeMachine;
beforeEach(() => {
  machine = new FakeMachine();
  machine.writeExecutable("templates/coder", says("Coder v2.36.1 Thu Aug 27"));
  machine.writeExecutable("templates/coder-oss", says("Coder v2.36.1"));
  machine.writeExecutable("templates/coder-old", says("Coder v2.26.0"));
  machine.writeExecutable("templates/terraform", says("Terraform v1.5.7"));
});
afterEach(() => machine.remove());

test("everything is built once: later runs find it in the cache", async () => {
  const first = await coderBinaries(machine.context());
  expect(await coderBinaries(machine.context())).toEqual(first);
  expect(machine.built).toEqual(["coder", "terraform", "coder-old", "coder-oss"]);
});

test("who only looks into the cache builds nothing, and finds all or nothing", async () => {
  expect(await cachedCoderBinaries(machine.env)).toBeUndefined();
  expect(machine.built).toEqual([]);
  const built = await coderBinaries(machine.context());
  expect(await cachedCoderBinaries(machine.env)).toEqual(built);
  writeFileSync(built.terraform, "tampered");
  expect(await cachedCoderBinaries(machine.env)).toBeUndefined();
});

test("a build that calls itself another version is not kept", async () => {
  machine.writeExecutable("templates/coder-oss", says("Coder v2.25.1"));
  await expect(coderBinaries(machine.context())).rejects.toThrow(
    /coder-oss is version v2\.25\.1, but tools\/coder\/go\.mod pins v2\.36\.1/,
  );
  expect(await cachedCoderBinaries(machine.env)).toBeUndefined();
});

test("without Go, one sentence says what to do", async () => {
  await expect(
    coderBinaries({ ...machine.context(), env: { ...machine.env, PATH: "/nowhere" } }),
  ).rejects.toThrow(
    "coder, terraform, coder-old, coder-oss are not available: they are built with Go, which is not installed",
  );
});
