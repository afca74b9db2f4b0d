import { describe, expect, it } from "vitest";
import { daemonTags, matchesTags } from "./tags.ts";

const UNTAGGED = { scope: "organization", owner: "" };

describe("the tags of a key's daemons", () => {
  it.each([
    ["none", {}, UNTAGGED],
    ["some", { env: "prod" }, { ...UNTAGGED, env: "prod" }],
    ["an empty one, which coderd drops", { env: "" }, UNTAGGED],
    ["a scope that coderd does not know", { scope: "world", owner: "me" }, UNTAGGED],
    [
      "the scope of a user",
      { scope: "user", owner: "me" },
      { scope: "user", owner: "00000000-0000-0000-0000-000000000000" },
    ],
  ])("follow from %s", (_, key, expected) => {
    expect(daemonTags(key)).toEqual(expected);
  });
});

describe("a daemon", () => {
  it.each([
    ["takes an untagged job when it is untagged", UNTAGGED, UNTAGGED, true],
    ["leaves untagged jobs to others when it has a tag", { ...UNTAGGED, env: "prod" }, UNTAGGED, false],
    ["takes a job that asks for its tag", { ...UNTAGGED, env: "prod" }, { ...UNTAGGED, env: "prod" }, true],
    [
      "takes a job that asks for some of its tags",
      { ...UNTAGGED, env: "prod", gpu: "yes" },
      { ...UNTAGGED, gpu: "yes" },
      true,
    ],
    ["leaves a job that asks for more", UNTAGGED, { ...UNTAGGED, env: "prod" }, false],
    [
      "leaves a job that asks for another value",
      { ...UNTAGGED, env: "prod" },
      { ...UNTAGGED, env: "test" },
      false,
    ],
    ["leaves the jobs of one user alone", UNTAGGED, { scope: "user", owner: "u1" }, false],
    ["takes a job that asks for nothing at all", { ...UNTAGGED, env: "prod" }, {}, true],
    [
      "does not take an inherited name for a tag",
      UNTAGGED,
      { constructor: "x", scope: "organization" },
      false,
    ],
  ])("%s", (_, daemon, job, expected) => {
    expect(matchesTags(daemon, job)).toBe(expected);
  });
});
