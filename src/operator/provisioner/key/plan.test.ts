import { describe } from "vitest";
import {
  ask,
  coderd,
  fixed,
  held,
  keep,
  key,
  nothingApplied,
  place,
  rotate,
  table,
  tags,
} from "../../../../test/support/provisioner-plan.ts";
import { tagsHash } from "./record.ts";

describe("nothing to do", () => {
  table([
    { when: "all is recorded and coderd was not asked", plan: keep },
    { when: "coderd has the key as it should be", coderd: coderd(key()), plan: keep },
    {
      when: "coderd has other keys beside it",
      coderd: coderd(key({ id: "k9", name: "other" }), key()),
      plan: keep,
    },
    {
      when: "the key in use has a name from an earlier rotation",
      applied: { name: "pool-1234abcd", id: "k2" },
      coderd: coderd(key({ id: "k2", name: "pool-1234abcd" })),
      plan: keep,
    },
    {
      when: "the user's fixed name is that of the key",
      wanted: fixed("pool"),
      coderd: coderd(key()),
      plan: keep,
    },
    {
      when: "tags were only written in another order",
      wanted: { tags: { b: "2", a: "1" } },
      applied: { tagsHash: tagsHash({ a: "1", b: "2" }) },
      coderd: coderd(key({ tags: { a: "1", b: "2" } })),
      plan: keep,
    },
    {
      when: "coderd spells out the tags that every daemon has",
      coderd: coderd(key({ tags: { ...tags, scope: "organization", owner: "" } })),
      plan: keep,
    },
    {
      when: "the spec spells out the tags that every daemon has",
      wanted: { tags: { ...tags, scope: "organization" } },
      applied: { tagsHash: tagsHash({ ...tags, scope: "organization" }) },
      coderd: coderd(key()),
      plan: keep,
    },
    {
      when: "there are keys that wait for their deletion",
      retired: [{ name: "pool-old", id: "k0" }],
      coderd: coderd(key(), key({ id: "k0", name: "pool-old" })),
      plan: keep,
    },
    {
      when: "the Secret carries no mark, as an earlier release left it",
      held: [{ place }],
      coderd: coderd(key()),
      plan: keep,
    },
  ]);
});

describe("a fresh provisioner", () => {
  const fresh = { applied: nothingApplied, held: [] };
  table([
    { when: "asks coderd first", ...fresh, plan: ask },
    {
      when: "takes its own name when that is free",
      ...fresh,
      coderd: coderd(),
      plan: { do: "create", name: "pool", because: ["new"] },
    },
    {
      when: "takes another name when a key that it does not know has its own",
      ...fresh,
      coderd: coderd(key({ id: "k9" })),
      plan: { do: "create", name: "pool-0000beef", because: ["new"] },
    },
    {
      when: "takes the fixed name when that is free",
      ...fresh,
      wanted: fixed("mine"),
      coderd: coderd(key({ id: "k9" })),
      plan: { do: "create", name: "mine", because: ["new"] },
    },
    {
      when: "never takes a fixed name from a foreign key",
      ...fresh,
      wanted: fixed("mine"),
      coderd: coderd(key({ id: "k9", name: "mine" })),
      plan: { do: "refuse", name: "mine" },
    },
    {
      when: "with a Secret that has no value under the wanted key makes one",
      applied: nothingApplied,
      held: [held({ place: { ...place, key: "other" } })],
      coderd: coderd(),
      plan: { do: "create", name: "pool", because: ["new"] },
    },
  ]);
});

describe("a Secret that is lost", () => {
  table([
    { when: "asks coderd first", held: [], plan: ask },
    {
      when: "gets a key of a fresh name: the old one may still be in use by running daemons",
      held: [],
      coderd: coderd(key()),
      plan: rotate("pool-0000beef", "secretLost"),
    },
    {
      when: "gets a key of the plain name when the old key is gone as well",
      held: [],
      coderd: coderd(),
      plan: rotate("pool", "secretLost"),
    },
    {
      when: "lacks the data key (only another one has a value)",
      held: [held({ place: { ...place, key: "other" } })],
      coderd: coderd(key()),
      plan: rotate("pool-0000beef", "secretLost"),
    },
    {
      when: "whose key has a fixed name: that key is deleted and recreated",
      wanted: fixed("pool"),
      held: [],
      coderd: coderd(key()),
      plan: { do: "replace", name: "pool", because: ["secretLost"] },
    },
    {
      when: "whose key has a fixed name, but another key has that name now",
      wanted: fixed("pool"),
      held: [],
      coderd: coderd(key({ id: "k9" })),
      plan: { do: "refuse", name: "pool" },
    },
    {
      when: "together with a rename of the Secret: nothing to copy",
      wanted: { secretRef: { ...place, name: "elsewhere" } },
      held: [],
      coderd: coderd(key()),
      plan: rotate("pool-0000beef", "secretLost"),
    },
    {
      when: "while the new name of it has a value of unknown origin",
      wanted: { secretRef: { ...place, name: "elsewhere" } },
      held: [{ place: { ...place, name: "elsewhere" } }],
      coderd: coderd(key()),
      plan: rotate("pool-0000beef", "secretLost"),
    },
  ]);
});

describe("only the place of the key changes", () => {
  table([
    {
      when: "Secret renamed: copied without a request to coderd",
      wanted: { secretRef: { ...place, name: "elsewhere" } },
      plan: { do: "copySecret", from: place },
    },
    {
      when: "data key renamed: copied",
      wanted: { secretRef: { ...place, key: "renamed" } },
      plan: { do: "copySecret", from: place },
    },
    {
      when: "both renamed: copied",
      wanted: { secretRef: { name: "elsewhere", key: "renamed" } },
      plan: { do: "copySecret", from: place },
    },
    {
      when: "renamed to a Secret that has a value already: ours counts",
      wanted: { secretRef: { ...place, name: "elsewhere" } },
      held: [held(), { place: { ...place, name: "elsewhere" } }],
      plan: { do: "copySecret", from: place },
    },
    {
      when: "renamed and tags changed: copied first, so that the old key is not lost",
      wanted: { secretRef: { ...place, name: "elsewhere" }, tags: { env: "dev" } },
      coderd: coderd(key()),
      plan: { do: "copySecret", from: place },
    },
    {
      when: "copied and recorded: done",
      wanted: { secretRef: { ...place, name: "elsewhere" } },
      applied: { secretRef: { ...place, name: "elsewhere" } },
      held: [held(), held({ place: { ...place, name: "elsewhere" } })],
      plan: keep,
    },
  ]);
});
