import { expect, test } from "vitest";
import { Parent, runManager } from "../../test/support/manager-under-test.ts";
import { controller, type RunContext } from "../controller/controller.ts";
import { ConfigMap, select } from "../kinds.ts";
import { keyOfObject } from "../object.ts";
import { awaitChange } from "../queue/action.ts";

const Red = select(ConfigMap, { labelSelector: "team=red" });
const Blue = select(ConfigMap, { labelSelector: "team in (blue, navy)" });

const configMap = (name: string, team: string) => ({
  metadata: { namespace: "n", name, labels: { team } },
});

/** A controller that watches ConfigMaps by two selectors, and its runs. */
function setUp() {
  const runs: string[] = [];
  let last: RunContext | undefined;
  const teams = controller("teams")
    .for(Parent)
    .watches(Red, (object) => [`red/${object.metadata.name}`])
    .watches(Blue, (object) => [`blue/${object.metadata.name}`])
    .reconcile(async (key, context) => {
      runs.push(key);
      last = context;
      return awaitChange;
    });
  const context = () => {
    if (!last) throw new Error("nothing has run");
    return last;
  };
  return { teams, runs: () => runs.splice(0), context };
}

const cached = ({ caches }: RunContext) =>
  [Red, Blue].map((kind) => [...caches.of(kind).all()].map(keyOfObject));

test("one controller can watch a kind by two selectors, each with a separate cache", async () => {
  const { teams, runs, context } = setUp();
  const { person, clock } = await runManager([teams]);
  for (const [name, team] of [
    ["a", "red"],
    ["b", "navy"],
    ["c", "green"],
  ] as const)
    await person.create(ConfigMap, configMap(name, team));
  await clock.advance(1_000);
  expect(runs()).toEqual(["red/a", "blue/b"]);
  expect(cached(context())).toEqual([["n/a"], ["n/b"]]);
});

test("an object that changes its labels moves from one cache to the other", async () => {
  const { teams, runs, context } = setUp();
  const { person, clock } = await runManager([teams]);
  await person.create(ConfigMap, configMap("a", "red"));
  await clock.advance(1_000);
  runs();
  await person.mergePatch(
    ConfigMap,
    { namespace: "n", name: "a" },
    { metadata: { labels: { team: "blue" } } },
  );
  await clock.advance(1_000);
  expect(runs().sort()).toEqual(["blue/a", "red/a"]);
  expect(cached(context())).toEqual([[], ["n/a"]]);
});

test("own writes show at once in the caches that select them, and in no other", async () => {
  const { teams, context } = setUp();
  const { person, clock } = await runManager([teams]);
  await person.create(ConfigMap, configMap("a", "red"));
  await clock.advance(1_000);
  const { client } = context();
  await client.create(ConfigMap, configMap("mine", "blue"));
  await client.create(ConfigMap, configMap("other", "green"));
  expect(cached(context())).toEqual([["n/a"], ["n/mine"]]);
  await client.delete(ConfigMap, { namespace: "n", name: "mine" });
  expect(cached(context())).toEqual([["n/a"], []]);
});

test("a kind that is watched by selections only has no other cache", async () => {
  const { teams, context } = setUp();
  const { person, clock } = await runManager([teams]);
  await person.create(ConfigMap, configMap("a", "red"));
  await clock.advance(1_000);
  expect(() => context().caches.of(ConfigMap)).toThrow("no controller watches configmaps");
});
