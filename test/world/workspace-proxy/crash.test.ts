import { describe, expect, test } from "vitest";
import { CoderWorkspaceProxy } from "../../../src/api/v1alpha1/kinds.ts";
import { CrashingOperator, type CrashOptions, playAll } from "../../support/crashing-operator.ts";
import { bootstrap, type Coderd, ProxyStage } from "../../support/stages/workspace-proxy.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const NAME = "site";
const SECRET = `${NAME}-proxy-token`;
/** An operator that missed an answer tries again after a while. */
const TIME_LIMIT = { withinMs: 30 * 60_000 };

/** The operation during which the operator fails. */
interface Deed {
  readonly what: string;
  /** Whether the proxy is registered before. */
  readonly existing: boolean;
  readonly begin: (stage: ProxyStage, coderd: Coderd) => Promise<unknown>;
  /** What it does at coderd. */
  readonly effect: string;
}

const create = (stage: ProxyStage, coderd: Coderd) => stage.create(NAME, bootstrap(coderd));

const deeds: readonly Deed[] = [
  { what: "registration", existing: false, begin: create, effect: "createWorkspaceProxy" },
  {
    what: "the replacement of a lost token",
    existing: true,
    begin: (stage) => stage.putToken(SECRET, ""),
    effect: "regenerateProxyToken",
  },
  {
    what: "deletion",
    existing: true,
    begin: (stage) => stage.delete(CoderWorkspaceProxy, NAME),
    effect: "deleteWorkspaceProxy",
  },
];

/** One record at coderd, whose token the Secret has and whose ID the status has; none for a proxy that is gone. */
async function assertDone(stage: ProxyStage, { deployment }: Coderd): Promise<void> {
  if (!(await stage.exists(CoderWorkspaceProxy, NAME))) {
    expect(deployment.proxies).toEqual([]);
    return;
  }
  const { metadata, status } = await stage.get(CoderWorkspaceProxy, NAME);
  expect(metadata.deletionTimestamp).toBeUndefined();
  expect(status).toMatchObject({ registered: true, proxyName: NAME });
  const token = await stage.token(SECRET);
  stage.secrets.add(token);
  expect(deployment.acceptedProxy(token), "the proxy that is let in").toBeDefined();
  expect(deployment.proxies).toMatchObject([{ id: status?.proxyID, name: NAME, token }]);
}

/** Does the deed with an operator that fails at one of its effects, and then another; returns at which it failed. */
async function play(deed: Deed, failure: CrashOptions): Promise<string | undefined> {
  const world = new MemoryWorld();
  await using stage = new ProxyStage(world, await world.createNamespace("crash"));
  const coderd = await stage.coderd(NAME);
  const done = () => assertDone(stage, coderd);
  if (deed.existing) {
    await using _healthy = await stage.startOperator();
    await create(stage, coderd);
    await stage.eventually(done);
  }
  const operatorUnderTest = new CrashingOperator(failure);
  const operator = await stage.startOperator(operatorUnderTest.throughWorld(world));
  await stage.untilIdle();
  operatorUnderTest.arm();
  await deed.begin(stage, coderd);
  await stage.eventually(async () => {
    if (!operatorUnderTest.isDead) await done();
  }, TIME_LIMIT);
  await operator.stop();
  await stage.startOperator();
  await stage.eventually(done, TIME_LIMIT);
  return operatorUnderTest.failedAt;
}

describe("a proxy is registered once, with the token that it has, when the operator", () => {
  test.for(deeds)("is killed after any effect: $what", async (deed) => {
    const failed = await playAll("diesAfter", (options) => play(deed, options));
    expect(failed).toContain(deed.effect);
  });

  test.for(deeds)("misses the answer to any effect: $what", async (deed) => {
    const failed = await playAll("missesAnswer", (options) => play(deed, options));
    expect(failed).toContain(deed.effect);
  });
});
