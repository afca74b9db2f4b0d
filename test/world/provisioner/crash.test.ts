import { Secret } from "kube-controller-runtime";
import { describe, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import type { RunningOperator } from "../../../lab/operator.ts";
import { CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import type { ProvisionerSpec } from "../../../src/api/v1alpha1/provisioner.ts";
import { CrashingOperator, type CrashOptions, playAll } from "../../support/crashing-operator.ts";
import { openStage, type ProvisionerStage } from "../../support/stages/provisioner.ts";
import { MemoryWorld } from "../../support/world/memory.ts";
import { Pods } from "./pods.ts";

interface Story {
  readonly title: string;
  readonly first: Partial<ProvisionerSpec>;
  /** What is changed in the faulty operator's time; its creation when absent. */
  readonly change?: object;
  /** Whether daemons can be served at every moment: not where the name of a key must be reused. */
  readonly served: boolean;
}

const NAME = "pool";
/** An operator that missed an answer tries again after a while. */
const TIME_LIMIT = { withinMs: 5 * 60_000 };

const stories: readonly Story[] = [
  { title: "a first key", first: {}, served: true },
  { title: "other tags", first: {}, change: { tags: { a: "2" } }, served: true },
  { title: "another control plane", first: {}, change: { controlPlaneRef: { name: "other" } }, served: true },
  {
    title: "another organization, Secret and data key",
    first: {},
    change: { organizationName: "team", key: { secretName: "moved", secretKey: "other" } },
    served: true,
  },
  {
    title: "other tags under a fixed name",
    first: { key: { name: NAME } },
    change: { tags: { a: "2" } },
    served: false,
  },
];

/** A world for one story that goes wrong once. */
class Play implements AsyncDisposable {
  readonly stage: ProvisionerStage;
  readonly #coderds: readonly CoderdDeployment[];

  constructor(stage: ProvisionerStage, coderds: readonly CoderdDeployment[]) {
    this.stage = stage;
    this.#coderds = coderds;
  }

  get keys(): CoderdDeployment["keys"] {
    return this.#coderds.flatMap(({ keys }) => keys);
  }

  pods(): Pods {
    return new Pods(this.stage, NAME, this.#coderds);
  }

  start(operatorUnderTest: CrashingOperator): Promise<RunningOperator> {
    return this.stage.startOperator(operatorUnderTest.throughWorld(this.stage.world));
  }

  untilOneOfEach(): Promise<void> {
    return this.stage.eventually(() => this.assertOneOfEach(), TIME_LIMIT);
  }

  /** What every story must end with: one key, one Secret that holds it, and a status that knows it. */
  async assertOneOfEach(): Promise<void> {
    const status = await this.stage.assertSettled(NAME);
    expect(status).not.toHaveProperty("pendingKey");
    expect(status).not.toHaveProperty("retiredKeys");
    expect(this.keys).toMatchObject([{ id: status.provisionerKeyID, name: status.provisionerKeyName }]);
    const { name: secret = "", key = "" } = status.secretRef ?? {};
    const labelSelector = `app.kubernetes.io/instance=${NAME}`;
    const { namespace } = this.stage;
    const { items } = await this.stage.person.list(Secret, { namespace, labelSelector });
    expect(items.map(({ metadata }) => metadata.name)).toEqual([secret]);
    expect(Object.keys(items[0]?.data ?? {})).toEqual([key]);
    expect(await this.stage.keyIn(secret, key)).toBe(this.keys[0]?.plaintext);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stage[Symbol.asyncDispose]();
  }
}

async function openPlay(): Promise<Play> {
  const stage = await openStage(new MemoryWorld(), "crash", { operator: false });
  const coderd = await stage.controlPlane("coder", { organizations: ["team"] });
  return new Play(stage, [coderd, await stage.controlPlane("other")]);
}

/** Runs a scenario with an operator that fails at one of its effects; returns which, if there were this many. */
async function play(story: Story, failure: CrashOptions): Promise<string | undefined> {
  await using theatre = await openPlay();
  await using pods = theatre.pods();
  const { stage } = theatre;
  const complaints: string[] = [];
  const onEffect = async (effect: string) => {
    if (story.served) complaints.push(...(await pods.complaints(effect)));
  };
  if (story.change) {
    await using _healthy = await stage.startOperator();
    await stage.create(NAME, story.first);
    await theatre.untilOneOfEach();
  }
  const operatorUnderTest = new CrashingOperator({ ...failure, onEffect });
  await suffer(story, operatorUnderTest, theatre);
  const failed = operatorUnderTest.failedAt;

  const heir = new CrashingOperator({ onEffect });
  heir.arm();
  await using _heir = await theatre.start(heir);
  await theatre.untilOneOfEach();
  expect(complaints, `failed at ${failed}`).toEqual([]);
  await stage.person.delete(CoderProvisioner, stage.ref(NAME));
  await stage.untilGone(CoderProvisioner, NAME);
  expect(theatre.keys, `failed at ${failed}`).toEqual([]);
  return failed;
}

/** The part of the story in which the operator fails. */
async function suffer(story: Story, operatorUnderTest: CrashingOperator, theatre: Play): Promise<void> {
  await using _mortal = await theatre.start(operatorUnderTest);
  await theatre.stage.untilIdle();
  operatorUnderTest.arm();
  if (story.change) await theatre.stage.change(NAME, story.change);
  else await theatre.stage.create(NAME, story.first);
  await theatre.stage.eventually(async () => {
    if (!operatorUnderTest.isDead) await theatre.assertOneOfEach();
  }, TIME_LIMIT);
}

async function playEach(story: Story, failure: "diesAfter" | "missesAnswer"): Promise<void> {
  const failed = await playAll(failure, (options) => play(story, options));
  expect(failed.filter((effect) => effect === "createProvisionerKey")).not.toEqual([]);
  expect(failed.filter((effect) => effect.endsWith("/status")).length).toBeGreaterThan(1);
}

describe("a key and its Secret survive, and no other key is left, when the operator", () => {
  test.for(stories)("is killed after any effect: $title", (story) => playEach(story, "diesAfter"));

  test.for(stories.slice(1, 4))("misses the answer to any effect: $title", (story) =>
    playEach(story, "missesAnswer"),
  );
});
