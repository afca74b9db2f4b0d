import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { type Coderd, type CoderdStage, openCoderdStage, urlVariable } from "../coderd/stage.ts";

const TIME_LIMIT = { withinMs: 20_000 };
const nowhere = "postgres://operator:some-password@127.0.0.1:1/nowhere";

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage(sharedCluster(), "revocation");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const keysOf = ({ database }: Coderd) => database.query("SELECT id FROM api_keys");

async function withToken(name: string): Promise<Coderd> {
  const coderd = await stage.coderd(name);
  await stage.serve(name, coderd);
  await stage.untilReady(name);
  expect(await keysOf(coderd)).toHaveLength(1);
  return coderd;
}

async function remove(name: string): Promise<void> {
  await stage.person.delete(CoderControlPlane, stage.ref(name));
  await stage.untilGone(CoderControlPlane, name);
}

describe("a control plane that is deleted", () => {
  test("takes the operator's token with it, by the database", async () => {
    const coderd = await withToken("plain");
    await remove("plain");
    expect(await keysOf(coderd)).toEqual([]);
    expect(coderd.deployment.count(/^DELETE/)).toBe(0);
  });

  test("takes it with it by coderd's API where the database is out of reach", async () => {
    const coderd = await withToken("by-api");
    await stage.change("by-api", { extraEnv: [urlVariable(nowhere)] });
    await remove("by-api");
    expect(await keysOf(coderd)).toEqual([]);
  });

  test("is not blocked when nothing can be reached: it is logged and counted", async () => {
    const coderd = await withToken("lost");
    coderd.deployment.faults.inject({ fault: { kind: "cut" } });
    await stage.change("lost", { extraEnv: [urlVariable(nowhere)] });
    await remove("lost");
    expect(await keysOf(coderd)).toHaveLength(1);
    const line = stage.operator.log.find(({ msg }) => msg === "failed to revoke operator token");
    expect(line).toMatchObject({ level: "warn", problem: expect.stringContaining("refuses the connection") });
    expect(stage.counters.tokensLeftBehind).toBe(1);
  });

  test("keeps the token until its provisioners are gone, which need it to remove their keys", async () => {
    const coderd = await withToken("used");
    await stage.person.create(CoderProvisioner, provisioner("user-of-it", "used"));
    await stage.person.delete(CoderControlPlane, stage.ref("used"));
    await untilEnding("used");
    expect(await keysOf(coderd)).toHaveLength(1);
    await stage.person.delete(CoderProvisioner, stage.ref("user-of-it"));
    await stage.untilGone(CoderControlPlane, "used");
    expect(await keysOf(coderd)).toEqual([]);
  });

  test("waits for them for at most a minute", async () => {
    const coderd = await withToken("waiter");
    await stage.person.create(CoderProvisioner, provisioner("stays", "waiter"));
    await stage.person.delete(CoderControlPlane, stage.ref("waiter"));
    await untilEnding("waiter");
    await stage.timePasses(60_000);
    await stage.untilGone(CoderControlPlane, "waiter");
    expect(await keysOf(coderd)).toEqual([]);
  });
});

function provisioner(name: string, controlPlane: string): CoderProvisioner {
  const { apiVersion, kind } = CoderProvisioner;
  return { apiVersion, kind, metadata: stage.ref(name), spec: { controlPlaneRef: { name: controlPlane } } };
}

/** The operator has seen the deletion, and waits. */
async function untilEnding(name: string): Promise<void> {
  const before = stage.counters.runs;
  await eventually(async () => {
    expect((await stage.controlPlane(name)).metadata.deletionTimestamp).toBeDefined();
    expect(stage.counters.runs).toBeGreaterThan(before);
    expect(stage.counters.running).toBe(0);
  }, TIME_LIMIT);
}
