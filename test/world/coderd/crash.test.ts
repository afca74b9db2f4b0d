import { Deployment, Secret } from "kube-controller-runtime";
import { describe, expect, test } from "vitest";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { acceptedAs } from "../../../lab/coderd-database/database.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { CrashingOperator, type CrashOptions, playAll } from "../../support/crashing-operator.ts";
import { type Coderd, type CoderdStage, openCoderdStage, urlVariable } from "./stage.ts";

const NAME = "coder";
const SECRET = `${NAME}-operator-token`;
const DAY_MS = 24 * 60 * 60_000;
/** An operator that missed an answer tries again after a while. */
const TIME_LIMIT = { withinMs: 30 * 60_000 };

/** The operation during which the operator fails. */
interface Deed {
  readonly what: string;
  /** Whether it has a token before, which coderd must accept at every moment. */
  readonly existing: boolean;
  readonly begin: (stage: CoderdStage, coderd: Coderd) => Promise<unknown>;
  readonly assertDone: (stage: CoderdStage, coderd: Coderd) => Promise<void>;
  /** Effects that it has at least. */
  readonly effects: readonly RegExp[];
}

/** A control plane with a license. */
async function create(stage: CoderdStage, { database }: Coderd): Promise<void> {
  await stage.putSecret("license", { license: fakeLicense({ now: stage.clock.now() }) });
  const extraEnv = [urlVariable(database.url)];
  await stage.create(NAME, { extraEnv, operatorAccess: {}, licenseSecretRef: { name: "license" } });
}

/** Its pods are ready as soon as it has a Deployment. */
async function rollOut(stage: CoderdStage): Promise<void> {
  const { items } = await stage.person.list(Deployment, { namespace: stage.namespace });
  if (items[0] && !items[0].status?.readyReplicas) await stage.markReady(NAME);
}

/** One user, one token and one license, which the status knows, and nothing else. */
async function assertOneOfEach(stage: CoderdStage, { database, deployment }: Coderd): Promise<void> {
  const { status } = await stage.controlPlane(NAME);
  expect(status).toMatchObject({ operatorAccessReady: true, licenseTier: "premium" });
  const amiss = status?.conditions?.filter(({ type, status }) => status !== "True" && type !== "ImagePinned");
  expect(amiss).toEqual([]);
  const token = await stage.token(SECRET);
  expect(await database.users()).toMatchObject([{ username: "coder-k8s-operator" }]);
  expect(await database.memberships()).toHaveLength(1);
  expect(await database.keys()).toMatchObject([{ id: token.split("-")[0] }]);
  expect(await acceptedAs(database, token, stage.clock.now())).toBe("coder-k8s-operator (owner)");
  expect(deployment.licenses).toHaveLength(1);
  const labelSelector = `app.kubernetes.io/instance=${NAME}`;
  const { items } = await stage.person.list(Secret, { namespace: stage.namespace, labelSelector });
  expect(items.map(({ metadata }) => metadata.name)).toEqual([SECRET]);
}

async function assertGivenUp(stage: CoderdStage, { database }: Coderd): Promise<void> {
  const condition = await stage.untilCondition(NAME, "OperatorAccessReady", { reason: "Disabled" });
  expect(condition).toMatchObject({ status: "False" });
  expect(await database.keys()).toEqual([]);
  expect(await stage.exists(Secret, SECRET)).toBe(false);
}

const replaced = { existing: true, effects: [/^ensureToken$/, /^PATCH .*\/secrets\//] };

const deeds: readonly Deed[] = [
  {
    what: "the first start",
    existing: false,
    begin: create,
    assertDone: assertOneOfEach,
    effects: [/^ensureToken$/, /^PATCH .*\/secrets\//, /^addLicense$/, /^PATCH .*\/status$/],
  },
  {
    what: "the renewal of a token that ends soon",
    ...replaced,
    begin: async (stage) => stage.clock.jump(336 * DAY_MS),
    assertDone: assertOneOfEach,
  },
  {
    what: "the replacement of a token that a person asks for",
    ...replaced,
    begin: (stage) => {
      // A younger key is never taken for abandoned.
      stage.clock.jump(10 * 60_000);
      const annotations = { "coder.com/rotate-at": "now" };
      return stage.person.mergePatch(CoderControlPlane, stage.ref(NAME), { metadata: { annotations } });
    },
    assertDone: assertOneOfEach,
  },
  {
    what: "the end of its access",
    existing: true,
    begin: (stage) => stage.change(NAME, { operatorAccess: { disabled: true } }),
    assertDone: assertGivenUp,
    effects: [/^revokeToken$/, /^DELETE .*\/secrets\//],
  },
];

/** Does the deed with an operator that fails at one of its effects, and then another; returns at which it failed. */
async function play(deed: Deed, failure: CrashOptions): Promise<string | undefined> {
  await using stage = await openCoderdStage({ operator: false });
  const coderd = await stage.coderd(NAME);
  if (deed.existing) {
    await using _healthy = await stage.startOperator();
    await create(stage, coderd);
    await stage.untilServing(NAME);
    await stage.eventually(() => assertOneOfEach(stage, coderd));
  }
  const isReplaced = deed.existing && deed.assertDone === assertOneOfEach;
  const onEffect = async (effect: string) => {
    if (!isReplaced) return;
    const held = await acceptedAs(coderd.database, await stage.token(SECRET), stage.clock.now());
    expect(held, effect).toBe("coder-k8s-operator (owner)");
  };
  const operatorUnderTest = new CrashingOperator({ ...failure, onEffect });
  const operator = await stage.startOperator(operatorUnderTest.throughWorld(stage.world, stage.access()));
  await stage.untilIdle();
  operatorUnderTest.arm();
  await deed.begin(stage, coderd);
  await stage.eventually(async () => {
    await rollOut(stage);
    if (!operatorUnderTest.isDead) await deed.assertDone(stage, coderd);
  }, TIME_LIMIT);
  await operator.stop();
  await using _heir = await stage.startOperator();
  await stage.eventually(async () => {
    await rollOut(stage);
    await deed.assertDone(stage, coderd);
  }, TIME_LIMIT);
  await stage.delete(CoderControlPlane, NAME);
  await stage.untilGone(CoderControlPlane, NAME);
  expect(await coderd.database.keys()).toEqual([]);
  return operatorUnderTest.failedAt;
}

describe("one token and one license are left, and what is stored is always valid, when the operator", () => {
  test.for(deeds)("is killed after any effect: $what", async (deed) => {
    const failed = await playAll("diesAfter", (options) => play(deed, options));
    for (const effect of deed.effects) expect(failed).toContainEqual(expect.stringMatching(effect));
  });

  test.for(deeds)("misses the answer to any effect: $what", async (deed) => {
    const failed = await playAll("missesAnswer", (options) => play(deed, options));
    for (const effect of deed.effects) expect(failed).toContainEqual(expect.stringMatching(effect));
  });
});
