import { describe } from "vitest";
import {
  adopted,
  applied,
  ask,
  coderd,
  fixed,
  held,
  key,
  nothingApplied,
  organizationID,
  pending,
  place,
  record,
  rotate,
  table,
} from "../../../../test/support/provisioner-plan.ts";
import { type AppliedKey, tagsHash } from "./record.ts";

describe("what status does not say is filled in without a rotation", () => {
  const fields = Object.keys(applied) as (keyof AppliedKey)[];
  const without = (field: keyof AppliedKey) => ({ [field]: undefined });
  table([
    ...fields.map((field) => ({ when: `${field} missing: asks coderd`, applied: without(field), plan: ask })),
    ...fields.map((field) => ({
      when: `${field} missing: recorded`,
      applied: without(field),
      coderd: coderd(key()),
      plan: record,
    })),
    { when: "all missing: recorded", applied: nothingApplied, coderd: coderd(key()), plan: record },
    {
      when: "all missing, and the Secret's mark names the key",
      applied: nothingApplied,
      held: [held({ keyName: "pool-1234abcd" })],
      coderd: coderd(key({ id: "k2", name: "pool-1234abcd" })),
      plan: { do: "record", key: { ...applied, id: "k2", name: "pool-1234abcd" } },
    },
    {
      when: "all missing and coderd has no such key: made",
      isDisowned: true,
      applied: nothingApplied,
      coderd: coderd(),
      plan: { do: "create", name: "pool", because: ["deletedAtCoderd"] },
    },
    {
      when: "the hash of the tags missing, but coderd has other tags",
      applied: { tagsHash: undefined },
      coderd: coderd(key({ tags: {} })),
      plan: rotate("pool-0000beef", "tagsAtCoderd"),
    },
    {
      when: "the URL missing while the tags changed",
      wanted: { tags: {} },
      applied: { controlPlaneURL: undefined },
      coderd: coderd(key()),
      plan: rotate("pool-0000beef", "tags"),
    },
    {
      when: "the organization's id missing while its name changed",
      wanted: { organizationName: "team" },
      applied: { organizationID: undefined },
      coderd: { organizationID: "org-2", keys: [] },
      plan: rotate("pool", "organization"),
    },
    {
      when: "the id missing, Secret lost, name fixed: by its recorded name the key is ours",
      wanted: fixed("pool"),
      applied: { id: undefined },
      held: [],
      coderd: coderd(key()),
      plan: { do: "replace", name: "pool", because: ["secretLost"] },
    },
    {
      when: "the id missing in another organization: a key of that name there is not ours",
      wanted: { ...fixed("pool"), organizationName: "team" },
      applied: { id: undefined },
      coderd: { organizationID: "org-2", keys: [key({ id: "k9" })] },
      plan: { do: "refuse", name: "pool" },
    },
  ]);
});

describe("a rotation that was interrupted", () => {
  const marked = held({ keyName: "pool-0000cafe", attempt: "a1" });
  const elsewhere = { ...place, name: "elsewhere" };
  table([
    { when: "before the key reached a Secret: abandoned", pending, plan: { do: "abandon", pending } },
    {
      when: "before the key reached a Secret, at the very first key",
      pending,
      applied: nothingApplied,
      held: [],
      plan: { do: "abandon", pending },
    },
    {
      when: "while the Secret has the mark of an earlier attempt: abandoned",
      pending,
      held: [held({ attempt: "a0" })],
      plan: { do: "abandon", pending },
    },
    {
      when: "after the Secret was written: adopted, and coderd is not needed",
      pending,
      held: [marked],
      plan: { do: "adopt", key: adopted },
    },
    {
      when: "after the Secret was written, at the very first key",
      pending,
      applied: nothingApplied,
      held: [marked],
      plan: { do: "adopt", key: adopted },
    },
    {
      when: "drift during it, Secret written: adopted first, with the tags that it really has",
      pending,
      wanted: { tags: { env: "third" } },
      held: [marked],
      coderd: coderd(key()),
      plan: { do: "adopt", key: adopted },
    },
    {
      when: "drift during it, Secret not written: abandoned first",
      pending,
      wanted: { tags: { env: "third" } },
      coderd: coderd(key()),
      plan: { do: "abandon", pending },
    },
    {
      when: "rollback during it, Secret not written: abandoned, after which the old key is right again",
      pending: { ...pending, tagsHash: tagsHash({ env: "dev" }) },
      coderd: coderd(key()),
      plan: { do: "abandon", pending: { ...pending, tagsHash: tagsHash({ env: "dev" }) } },
    },
    {
      when: "rollback after the new key was adopted: the old value is gone, so it is rotated once more",
      applied: { name: "pool-0000cafe", id: "k2", tagsHash: tagsHash({ env: "dev" }) },
      retired: [{ name: "pool", id: "k1", organizationID }],
      coderd: coderd(key(), key({ id: "k2", name: "pool-0000cafe", tags: { env: "dev" } })),
      plan: rotate("pool-0000beef", "tags"),
    },
    {
      when: "rollback of a fixed name while the old key waits for its deletion: it is ours to replace",
      wanted: fixed("mine"),
      applied: { name: "yours", id: "k2" },
      retired: [{ name: "mine", id: "k1", organizationID }],
      coderd: coderd(key({ name: "mine" }), key({ id: "k2", name: "yours" })),
      plan: { do: "replace", name: "mine", because: ["name"] },
    },
    {
      when: "a fixed name that a key we gave up has: ours to replace",
      wanted: fixed("mine"),
      applied: nothingApplied,
      retired: [{ name: "mine", organizationID }],
      held: [],
      coderd: coderd(key({ id: "k5", name: "mine" })),
      plan: { do: "replace", name: "mine", because: ["new"] },
    },
    {
      when: "the Secret renamed during it: adopted where it is",
      pending,
      wanted: { secretRef: elsewhere },
      held: [marked],
      plan: { do: "adopt", key: adopted },
    },
    {
      when: "the Secret renamed and the key written to the new one: adopted there",
      pending,
      wanted: { secretRef: elsewhere },
      held: [held(), { ...marked, place: elsewhere }],
      plan: { do: "adopt", key: { ...adopted, secretRef: elsewhere } },
    },
    {
      when: "a record that says too little to be used: abandoned",
      pending: { name: "pool-0000cafe", attempt: "a1" },
      held: [marked],
      plan: { do: "abandon", pending: { name: "pool-0000cafe", attempt: "a1" } },
    },
    {
      when: "adopted without an id: asks coderd for it",
      applied: { name: "pool-0000cafe", id: undefined },
      held: [marked],
      plan: ask,
    },
    {
      when: "adopted without an id: recorded with it",
      applied: { name: "pool-0000cafe", id: undefined },
      held: [marked],
      coderd: coderd(key(), key({ id: "k2", name: "pool-0000cafe" })),
      plan: { do: "record", key: { ...applied, name: "pool-0000cafe", id: "k2" } },
    },
  ]);
});
