import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { Observer, type Sample } from "./support/observer.ts";
import { Platform } from "./support/platform.ts";
import { assertTruth, ended, isReady, type Trouble, waits } from "./support/truth.ts";

const OBJECT = "coderprovisioner/linux";
const MINUTE = 60_000;

const BAD: readonly (Omit<Trouble, "object"> & { readonly spec: string; readonly patch: object })[] = [
  {
    spec: "whose daemons end at once",
    patch: { command: ["sh", "-c", "exit 7"] },
    since: ended(7),
    says: ["exit code 7"],
  },
  {
    spec: "whose image can't be pulled",
    patch: { command: null, image: "localhost/does/not:exist" },
    since: waits(/^(ErrImagePull|ImagePullBackOff)$/),
    says: ["localhost/does/not:exist"],
  },
  {
    // coderd lists such a daemon at once, and it ends 15 s later.
    spec: "whose daemons find no Terraform",
    patch: { image: null, extraEnv: [{ name: "PATH", value: "/nonexistent" }] },
    since: ended(1),
    says: ["exit code 1"],
  },
];

describe.runIf(inject("place")?.coder)("a healthy pool that is given a bad spec", () => {
  let platform: Platform;
  let observer: Observer;
  beforeAll(async () => {
    platform = await Platform.open("bad-spec", { pools: { linux: { replicas: 2 } } });
    observer = new Observer(platform.cluster, platform.namespace);
  });
  beforeEach(({ onTestFailed }) => onTestFailed(async () => console.error(await platform?.story())));
  afterAll(async () => {
    await observer?.[Symbol.asyncDispose]();
    await platform?.[Symbol.asyncDispose]();
  });

  const change = (spec: object) =>
    platform.cluster.kubectl([
      ...["patch", OBJECT, `--namespace=${platform.namespace}`, "--type=merge"],
      `--patch=${JSON.stringify({ spec })}`,
    ]);
  const serving = (sample: Sample) =>
    sample
      .pods(OBJECT)
      .filter(isReady)
      .map(({ metadata }) => metadata?.uid ?? "");

  test.each(BAD)(
    "keeps its daemons for one $spec, and says what is wrong",
    async ({ patch, since, says }) => {
      const { value: daemons, at } = await observer.first(
        (sample) => (serving(sample).length === 2 ? serving(sample) : undefined),
        { withinMs: MINUTE },
      );
      await change(patch);
      const told = await assertTruth(platform, observer, { object: OBJECT, since, says });
      expect(told).toBeGreaterThan(at);
      for (const sample of observer.between(at, Number.POSITIVE_INFINITY))
        expect(serving(sample)).toEqual(expect.arrayContaining(daemons));
    },
  );

  test("is Ready with the same daemons when the spec is as before", async () => {
    const daemons = observer.samples.slice(-1).flatMap(serving);
    await change({ extraEnv: null });
    const { value } = await observer.first(
      (sample) => (sample.condition(OBJECT, "Ready")?.status === "True" ? serving(sample) : undefined),
      { withinMs: MINUTE },
    );
    expect(value).toEqual(expect.arrayContaining(daemons));
  });
});
