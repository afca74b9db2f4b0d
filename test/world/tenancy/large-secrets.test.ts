import { afterEach, beforeEach, expect, test } from "vitest";
import { type ControlPlaneStage, openControlPlaneStage } from "../control-plane/stage.ts";

const HALF_MIB = "a".repeat(512 * 1024);
const MANY = 40;

let stage: ControlPlaneStage;
beforeEach(async () => {
  stage = await openControlPlaneStage("large");
});
afterEach(() => stage[Symbol.asyncDispose]());

test("authorities of more than 1 MiB are not read further, and the condition names the Secret that is too much", async () => {
  const secrets = Array.from({ length: MANY }, (_, index) => ({ name: `ca-${index}`, key: "ca.crt" }));
  for (const { name, key } of secrets) await stage.putSecret(name, { [key]: HALF_MIB });
  await stage.putSecret("tls", { "tls.crt": "x", "tls.key": "x" });
  await stage.serve("coder", { tls: { secretNames: ["tls"] }, certs: { secrets } });
  const { message } = await stage.untilCondition("coder", "EntitlementsKnown", { status: "False" });
  expect(message).toContain('Key "ca.crt" of Secret "ca-2" exceeds the limit of 1 MiB');
  expect(message).toContain("remove certificates that are not needed");
});
