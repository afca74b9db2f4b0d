import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeMachine } from "../../packages/kube-controller-runtime/test/support/fake-machine.ts";
import { terraformProviders } from "./providers.ts";

const names = ["terraform-provider-coder", "terraform-provider-kubernetes"];
let machine: FakeMachine;
beforeEach(() => {
  machine = new FakeMachine();
  for (const name of names) machine.writeExecutable(`templates/${name}`, `#!/bin/sh\n# ${name}\n`);
});
afterEach(() => machine.remove());

test("providers are built once: later runs find them in the cache", async () => {
  const first = await terraformProviders(machine.context());
  expect(await terraformProviders(machine.context())).toEqual(first);
  expect(machine.built).toEqual(names);
});

test("providers have the addresses that templates name, and versions as Terraform writes them", async () => {
  const found = await terraformProviders(machine.context());
  expect(found.map(({ source }) => source)).toEqual(["coder/coder", "hashicorp/kubernetes"]);
  for (const { version } of found) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
});

test("without Go, one sentence says what to do", async () => {
  const env = { ...machine.env, PATH: "/nowhere" };
  await expect(terraformProviders({ ...machine.context(), env })).rejects.toThrow(
    `${names.join(", ")} can't be built: Go is not installed; install Go.`,
  );
});
