import fc from "fast-check";
import { stored } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import { avoidReserved, commonLabels, identityOf, labelValue, type NameParts, shortName } from "./names.ts";

const a = (count: number) => "a".repeat(count);

test.each<[string, string, NameParts, string]>([
  ["fits", "coder", { max: 63 }, "coder"],
  ["fits with prefix and suffix", "coder", { prefix: "p-", suffix: "-s", max: 63 }, "p-coder-s"],
  ["just fits", a(63), { max: 63 }, a(63)],
  ["is one too long", a(64), { max: 63 }, `${a(54)}-d96f0f85`],
  ["just fits with a prefix", a(51), { prefix: "provisioner-", max: 63 }, `provisioner-${a(51)}`],
  [
    "is one too long with a prefix",
    a(52),
    { prefix: "provisioner-", max: 63 },
    `provisioner-${a(42)}-4f28a429`,
  ],
  ["is too long with a suffix", a(52), { suffix: "-provisioner", max: 63 }, `${a(42)}-4f28a429-provisioner`],
  [
    "is as long as names get",
    "b".repeat(253),
    { suffix: "-provisioner-key", max: 253 },
    `${"b".repeat(228)}-84ce6f65-provisioner-key`,
  ],
  [
    "would be cut behind a dot",
    `${"n".repeat(53)}.${"x".repeat(40)}`,
    { max: 63 },
    `${"n".repeat(53)}-6c2fb87d`,
  ],
])("a name that %s is shortened only as far as needed", (_case, base, parts, expected) => {
  expect(shortName(base, parts)).toBe(expected);
});

test("names that differ only past the cut stay apart", () => {
  const short = (base: string) => shortName(base, { max: 63 });
  expect(short(`${a(63)}b`)).toBe(`${a(54)}-d66f0acc`);
  expect(short(`${a(63)}b`)).not.toBe(short(a(64)));
});

test("a shortened object name is still a valid object name, and never too long", () => {
  const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$/);
  const subdomain = fc
    .array(label, { minLength: 1, maxLength: 8 })
    .map((labels) => labels.join("."))
    .filter((name) => name.length <= 253);
  fc.assert(
    fc.property(
      subdomain,
      fc.constantFrom("", "provisioner-"),
      fc.constantFrom("", "-key"),
      (name, prefix, suffix) => {
        const short = shortName(name, { prefix, suffix, max: 63 });
        expect(short.length).toBeLessThanOrEqual(63);
        expect(short).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
      },
    ),
  );
});

test("a label keeps the dot at the cut, since selectors made with it cannot change", () => {
  expect(labelValue(`${"n".repeat(53)}.${"x".repeat(40)}`)).toBe(`${"n".repeat(53)}.-6c2fb87d`);
  expect(labelValue(a(63))).toBe(a(63));
  expect(labelValue(a(64))).toBe(`${a(54)}-d96f0f85`);
});

test("children carry three labels, the instance shortened to what a label takes", () => {
  const identity = { name: a(64), namespace: "dev", uid: "1" };
  expect(commonLabels({ app: "coder-provisioner", identity })).toEqual({
    "app.kubernetes.io/name": "coder-provisioner",
    "app.kubernetes.io/instance": `${a(54)}-d96f0f85`,
    "app.kubernetes.io/managed-by": "coder-k8s",
  });
});

test("only a reserved name gets a hash", () => {
  expect(avoidReserved("psk", ["built-in", "psk"])).toBe("psk-7478bb6d");
  expect(avoidReserved("pskx", ["built-in", "psk"])).toBe("pskx");
});

test("an object without a namespace has no identity", () => {
  expect(identityOf(stored({}))).toEqual({ name: "coder", namespace: "dev", uid: "5f8e" });
  expect(() => identityOf(stored({}, { namespace: "" }))).toThrow('without a namespace: "coder"');
});
