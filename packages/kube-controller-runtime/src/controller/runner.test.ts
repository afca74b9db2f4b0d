import { describe, expect, test } from "vitest";
import { Parent, prepareManager, runManager } from "../../test/support/manager-under-test.ts";
import { TerminalError } from "../errors.ts";
import { ConfigMap, Secret, Service } from "../kinds.ts";
import { createLogger } from "../logging.ts";
import type { KubeObject, Stored } from "../object.ts";
import { awaitChange, requeue } from "../queue/action.ts";
import { controller } from "./controller.ts";

const parent = (name: string, spec: Parent["spec"] = {}) => ({ metadata: { namespace: "n", name }, spec });
const failures = [
  ["is logged with the wait before the next try", new Error("boom"), "run failed, retrying"],
  ["that a retry can't fix is logged as such", new TerminalError("no"), "run failed, waiting for a change"],
] as const;

describe("the log", () => {
  test("of a run carries controller, object and an id that no other run has", async () => {
    const parents = controller("parent")
      .for(Parent)
      .reconcile(async (_key, { log }) => {
        log.info("one");
        log.info("two");
        return requeue(1_000);
      });
    const { person, clock, log } = await runManager([parents]);
    await person.create(Parent, parent("x"));
    await clock.advance(1_500);
    const lines = log.filter(({ message }) => message === "one" || message === "two");
    expect(lines).toHaveLength(4);
    for (const { fields } of lines) expect(fields).toMatchObject({ controller: "parent", object: "n/x" });
    const ids = lines.map(({ fields }) => fields.run);
    expect(ids[0]).toMatch(/^[0-9a-f]{8}$/);
    expect([ids[1], ids[3]]).toEqual([ids[0], ids[2]]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  test.each(failures)("of a failure %s, under the id of its run", async (_, error, message) => {
    const parents = controller("parent")
      .for(Parent)
      .reconcile(async (_key, { log }) => {
        log.info("began");
        throw error;
      });
    const { person, clock, log } = await runManager([parents]);
    await person.create(Parent, parent("x"));
    await clock.advance(0);
    const began = log.find((entry) => entry.message === "began");
    const failed = log.find((entry) => entry.level === "error");
    expect(failed).toMatchObject({ message, fields: { controller: "parent", object: "n/x", error } });
    expect(failed?.fields.run).toBe(began?.fields.run);
  });
});

describe("a function of the controller that fails for one object", () => {
  const stumble = (name: string | undefined) => {
    if (name === "bad") throw new TypeError("can't read bad");
  };

  test("keeps no change of another object from its run", async () => {
    const runs: string[] = [];
    const parents = controller("parent")
      .for(Parent)
      .watches(Service, ({ metadata }) => {
        stumble(metadata.name);
        return [`n/${metadata.name}`];
      })
      .reconcile(async (key) => {
        runs.push(key);
        return awaitChange;
      });
    const { person, clock, log } = await runManager([parents]);
    for (const name of ["bad", "good"]) await person.create(Service, { metadata: { namespace: "n", name } });
    await clock.advance(0);
    expect(runs).toEqual(["n/good"]);
    expect(log.find(({ level }) => level === "error")).toMatchObject({
      message: "failed to map the change to keys",
      fields: { controller: "parent", object: "n/bad" },
    });
  });

  test("as an index or a transform leaves all other objects and watches alone, and is logged without secrets", async () => {
    const runs: string[] = [];
    const stumbling = (object: Stored<KubeObject>) => {
      if (object.metadata.name === "bad") throw new TypeError("can't read postgres://coder:hunter2@db/coder");
      return object;
    };
    const parents = controller("parent")
      .for(Parent, {
        transform: stumbling as never,
        indexes: { uid: (each) => [stumbling(each).metadata.uid] },
      })
      .reconcile(async (key) => {
        runs.push(key);
        return awaitChange;
      });
    const lines: string[] = [];
    const log = createLogger({ level: "info", destination: { write: (line) => void lines.push(line) } });
    const { person, clock, running } = await runManager([parents], { log });
    for (const name of ["bad", "good"]) await person.create(Parent, parent(name));
    await clock.advance(0);
    expect(runs).toEqual(["n/bad", "n/good"]);
    const failed = lines.filter((line) => line.includes("n/bad"));
    expect(failed).toEqual([expect.stringContaining("transform"), expect.stringContaining("index")]);
    expect(failed.join()).not.toContain("hunter2");
    expect(await Promise.race([running(), "runs"])).toBe("runs");
  });

  test("as a predicate causes an extra run rather than a missed change", async () => {
    const runs: string[] = [];
    const when = ({ object }: { object: KubeObject }) => {
      stumble(object.metadata?.name);
      return false;
    };
    const parents = controller("parent")
      .for(Parent, { when })
      .reconcile(async (key) => {
        runs.push(key);
        return awaitChange;
      });
    const { person, clock, log } = await runManager([parents]);
    for (const name of ["bad", "good"]) await person.create(Parent, parent(name));
    await clock.advance(0);
    expect(runs).toEqual(["n/bad"]);
    expect(log.filter(({ level }) => level === "error")).toMatchObject([
      {
        message: "predicate failed, reconciling the object",
        fields: { controller: "parent", object: "n/bad" },
      },
    ]);
  });

  test("makes the run of that object fail, and no other", async () => {
    const runs: string[] = [];
    const parents = controller("parent")
      .for(Parent)
      .refersTo(Secret, ({ metadata }) => {
        stumble(metadata.name);
        return [];
      })
      .reconcile(async (key) => {
        runs.push(key);
        return awaitChange;
      });
    const { person, clock, log } = await runManager([parents]);
    for (const name of ["bad", "good"]) await person.create(Parent, parent(name));
    await clock.advance(0);
    expect(runs).toEqual(["n/good"]);
    const failed = log.filter(({ message }) => message === "run failed, retrying");
    expect(failed.map(({ fields }) => fields.object)).toEqual(["n/bad"]);
  });
});

test("objects that change run before objects that only the first list reported", async () => {
  const runs: string[] = [];
  const parents = controller("parent")
    .for(Parent)
    .reconcile(async (key, { clock }) => {
      runs.push(key);
      await clock.sleep(1_000);
      return awaitChange;
    });
  const { person, clock, start } = prepareManager([parents], { concurrency: 1 });
  for (const name of ["a", "b", "c"]) await person.create(Parent, parent(name));
  start();
  await clock.advance(0);
  await person.mergePatch(Parent, { namespace: "n", name: "c" }, { spec: { text: "changed" } });
  await clock.advance(10_000);
  expect(runs).toEqual(["n/a", "n/c", "n/b"]);
});

test("a kind that the controller does not refer to is a mistake that the run reports", async () => {
  const parents = controller("parent")
    .for(Parent)
    .refersTo(Secret, () => [])
    .reconcile(async (_key, { referenced }) => {
      referenced(ConfigMap);
      return awaitChange;
    });
  const { person, clock, log } = await runManager([parents]);
  await person.create(Parent, parent("x"));
  await clock.advance(0);
  expect(String(log.find(({ level }) => level === "error")?.fields.error)).toContain(
    "parent declares no reference to ConfigMap",
  );
});
