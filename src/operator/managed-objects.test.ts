import type { Secret, Stored } from "kube-controller-runtime";
import { describe, expect, it } from "vitest";
import { dropLongValues } from "./managed-objects.ts";

const MIB = 1024 * 1024;

function secret(changes: Partial<Secret>): Stored<Secret> {
  return {
    kind: "Secret",
    ...changes,
    metadata: { name: "s", namespace: "n", uid: "u", resourceVersion: "1", ...changes.metadata },
  } as Stored<Secret>;
}

describe("what the cache keeps of a child", () => {
  it("is all of it, as long as that is short", () => {
    const child = secret({ data: { token: "dG9rZW4=" }, metadata: { annotations: { a: "1" } } });
    expect(dropLongValues(child)).toEqual(child);
  });

  it("is the value that the operator wrote, and not the megabyte that another user added", () => {
    const padded = secret({ data: { a: "a".repeat(MIB), token: "dG9rZW4=", z: "z".repeat(MIB) } });
    expect(dropLongValues(padded).data).toEqual({ token: "dG9rZW4=" });
  });

  it("is no more than a few kilobytes of many small values", () => {
    const data = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, index) => [`key-${index}`, "x".repeat(40)]),
    );
    expect(
      JSON.stringify(dropLongValues(secret({ data: { ...data, token: "dG9rZW4=" } }))).length,
    ).toBeLessThan(40_000);
    expect(dropLongValues(secret({ data: { ...data, token: "dG9rZW4=" } })).data?.token).toBe("dG9rZW4=");
  });

  it("leaves out long annotations and keeps the short ones", () => {
    const annotations = { note: "n".repeat(200_000), "coder.com/applied-hash": "abc" };
    expect(dropLongValues(secret({ metadata: { annotations } })).metadata.annotations).toEqual({
      "coder.com/applied-hash": "abc",
    });
  });
});
