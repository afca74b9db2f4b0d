import { describe } from "vitest";
import {
  applied,
  ask,
  coderd,
  fixed,
  key,
  rotate,
  table,
  tags,
} from "../../../../test/support/provisioner-plan.ts";

describe("drift", () => {
  const beside = "pool-0000beef";
  table([
    { when: "tags changed: asks coderd first", wanted: { tags: { env: "dev" } }, plan: ask },
    {
      when: "tags changed",
      wanted: { tags: { env: "dev" } },
      coderd: coderd(key()),
      plan: rotate(beside, "tags"),
    },
    {
      when: "another key is asked for",
      wanted: { rotation: "2026" },
      coderd: coderd(key()),
      plan: rotate(beside, "requested"),
    },
    { when: "tags removed", wanted: { tags: {} }, coderd: coderd(key()), plan: rotate(beside, "tags") },
    {
      when: "organization changed: asks coderd which it is",
      wanted: { organizationName: "team" },
      plan: ask,
    },
    {
      when: "organization changed: the name is free in the other one",
      wanted: { organizationName: "team" },
      coderd: { organizationID: "org-2", keys: [] },
      plan: rotate("pool", "organization"),
    },
    {
      when: "organization spelled by its other name: recorded, not rotated",
      wanted: { organizationName: "coder" },
      coderd: coderd(key()),
      plan: { do: "record", key: { ...applied, organizationName: "coder" } },
    },
    {
      when: "organization deleted and recreated under its name",
      coderd: { organizationID: "org-2", keys: [] },
      plan: rotate("pool", "organization"),
    },
    { when: "key name changed: asks coderd first", wanted: fixed("mine"), plan: ask },
    {
      when: "key name changed to a free one",
      wanted: fixed("mine"),
      coderd: coderd(key()),
      plan: rotate("mine", "name"),
    },
    {
      when: "key name changed to one that is taken",
      wanted: fixed("mine"),
      coderd: coderd(key(), key({ id: "k9", name: "mine" })),
      plan: { do: "refuse", name: "mine" },
    },
    {
      when: "key name no longer fixed: back to the plain one",
      applied: { name: "mine" },
      coderd: coderd(key({ name: "mine" })),
      plan: rotate("pool", "name"),
    },
    {
      when: "fixed name while the key has one from a rotation",
      wanted: fixed("pool"),
      applied: { name: "pool-1234abcd", id: "k2" },
      coderd: coderd(key({ id: "k2", name: "pool-1234abcd" })),
      plan: rotate("pool", "name"),
    },
    {
      when: "control plane changed",
      wanted: { controlPlaneRefName: "other" },
      coderd: coderd(),
      plan: rotate("pool", "controlPlane"),
    },
    {
      when: "control plane changed: asks the new one first",
      wanted: { controlPlaneRefName: "other" },
      plan: ask,
    },
    {
      when: "URL changed, same coderd: its key is still there",
      wanted: { controlPlaneURL: "https://coder:443" },
      coderd: coderd(key()),
      plan: rotate(beside, "url"),
    },
    {
      when: "URL changed and the name is fixed: the key of that id is ours",
      wanted: { ...fixed("pool"), controlPlaneURL: "https://coder:443" },
      coderd: coderd(key()),
      plan: { do: "replace", name: "pool", because: ["url"] },
    },
    {
      when: "control plane changed and the name is fixed: the other coderd's key of that name is not ours",
      wanted: { ...fixed("pool"), controlPlaneRefName: "other" },
      coderd: { organizationID: "org-2", keys: [key({ id: "k9" })] },
      plan: { do: "refuse", name: "pool" },
    },
    {
      when: "tags changed and the name is fixed",
      wanted: { ...fixed("pool"), tags: {} },
      coderd: coderd(key()),
      plan: { do: "replace", name: "pool", because: ["tags"] },
    },
    {
      when: "tags and organization at once: one rotation for both",
      wanted: { organizationName: "team", tags: {} },
      coderd: { organizationID: "org-2", keys: [] },
      plan: rotate("pool", "organization", "tags"),
    },
    {
      when: "everything at once: still one rotation",
      wanted: {
        ...fixed("mine"),
        controlPlaneRefName: "other",
        controlPlaneURL: "http://other:80",
        organizationName: "team",
        tags: {},
      },
      coderd: { organizationID: "org-2", keys: [] },
      plan: rotate("mine", "controlPlane", "url", "organization", "name", "tags"),
    },
    {
      when: "tags changed and the Secret lost at once",
      wanted: { tags: {} },
      held: [],
      coderd: coderd(key()),
      plan: rotate(beside, "secretLost"),
    },
    {
      when: "other credentials: asked and recorded, not rotated",
      wanted: { credentialsSecretRef: { name: "mine", key: "token" } },
      plan: ask,
    },
    {
      when: "other credentials that find the key as it should be",
      wanted: { credentialsSecretRef: { name: "mine", key: "token" } },
      coderd: coderd(key()),
      plan: {
        do: "record",
        key: { ...applied, credentialsSecretRef: { name: "mine", key: "token" } },
      },
    },
  ]);
});

describe("behind our back at coderd", () => {
  table([
    {
      when: "the key is not listed: asks whether coderd accepts it",
      coderd: coderd(),
      plan: { do: "confirm" },
    },
    {
      when: "the key was deleted",
      coderd: coderd(),
      isDisowned: true,
      plan: rotate("pool", "deletedAtCoderd"),
    },
    {
      when: "the key was deleted and another made under its name, whose plaintext we do not have",
      isDisowned: true,
      coderd: coderd(key({ id: "k9" })),
      plan: rotate("pool-0000beef", "deletedAtCoderd"),
    },
    {
      when: "the same with a fixed name: the other key is foreign",
      isDisowned: true,
      wanted: fixed("pool"),
      coderd: coderd(key({ id: "k9" })),
      plan: { do: "refuse", name: "pool" },
    },
    {
      when: "the key was deleted and its name is fixed and free",
      isDisowned: true,
      wanted: fixed("pool"),
      coderd: coderd(),
      plan: rotate("pool", "deletedAtCoderd"),
    },
    {
      when: "the key has other tags",
      coderd: coderd(key({ tags: { env: "dev" } })),
      plan: rotate("pool-0000beef", "tagsAtCoderd"),
    },
    {
      when: "the key has no tags",
      coderd: coderd(key({ tags: {} })),
      plan: rotate("pool-0000beef", "tagsAtCoderd"),
    },
    {
      when: "the key has other tags and its name is fixed",
      wanted: fixed("pool"),
      coderd: coderd(key({ tags: {} })),
      plan: { do: "replace", name: "pool", because: ["tagsAtCoderd"] },
    },
    {
      when: "a tag of another scope is not one that every daemon has",
      coderd: coderd(key({ tags: { ...tags, scope: "user" } })),
      plan: rotate("pool-0000beef", "tagsAtCoderd"),
    },
  ]);
});

describe("the content of the Secret", () => {
  table([
    { when: "not verified yet: asks coderd whose it is", secret: "unproven", plan: { do: "verify" } },
    { when: "verified", secret: "proven", plan: { do: "keep" } },
    { when: "not to be verified at this coderd", secret: "unverifiable", plan: { do: "keep" } },
    { when: "refused: asks which keys there are first", secret: "refused", plan: ask },
    {
      when: "refused",
      secret: "refused",
      coderd: coderd(key()),
      plan: rotate("pool-0000beef", "secretRefused"),
    },
    {
      when: "refused, because the key is gone",
      secret: "refused",
      coderd: coderd(),
      plan: rotate("pool", "deletedAtCoderd"),
    },
    {
      when: "refused under a fixed name",
      wanted: fixed("pool"),
      secret: "refused",
      coderd: coderd(key()),
      plan: { do: "replace", name: "pool", because: ["secretRefused"] },
    },
  ]);
});
