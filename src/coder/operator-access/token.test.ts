import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ApiKeyRow,
  hashSecret,
  isCopiedToken,
  isOwnKey,
  newToken,
  planApiKey,
  RENEW_BEFORE_MS,
  tokenName,
} from "./token.ts";

const NOW = Date.UTC(2026, 0, 1);
const SECRET = "abcdefghijklmnopqrstuv";
const HELD = `0123456789-${SECRET}`;

function key(changes: Partial<ApiKeyRow> = {}): ApiKeyRow {
  return {
    id: "0123456789",
    name: "n",
    hashedSecret: hashSecret(SECRET),
    expiresAt: NOW + 10 * RENEW_BEFORE_MS,
    createdAt: NOW,
    fullAccess: true,
    ...changes,
  };
}

describe("the name of a token", () => {
  it("is always the same for one control plane, and different for each", () => {
    expect(tokenName({ namespace: "prod", name: "coder" })).toBe("coder-k8s-operator-9daacaed8182e491");
    expect(tokenName({ namespace: "a", name: "bc" })).not.toBe(tokenName({ namespace: "ab", name: "c" }));
  });
});

describe("a new token", () => {
  it("has an id of 10 and a secret of 22 letters and digits for any random bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 64 }), (bytes) => {
        let position = 0;
        const source = (size: number) =>
          Uint8Array.from({ length: size }, () => (bytes[position++ % bytes.length] ?? 0) ^ (position % 251));
        const { id, secret } = newToken(source, "1");
        expect(`${id}-${secret}`).toMatch(/^[0-9A-Za-z]{10}-[0-9A-Za-z]{22}$/);
      }),
    );
  });

  it("uses every letter equally often: bytes that would favor some are discarded", () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    const counts = new Map<string, number>();
    let start = 0;
    for (let round = 0; round < 31; round++) {
      const { id, secret } = newToken((size) => {
        const chunk = Uint8Array.from({ length: size }, () => bytes[start++ % 256] ?? 0);
        return chunk;
      }, "1");
      for (const letter of id.slice(4, 8) + secret) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
    expect(counts.size).toBe(62);
    expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBeLessThanOrEqual(4);
  });
});

describe("the id of a key identifies its writer", () => {
  const issued = (uid: string) => {
    const { id, secret } = newToken(randomBytes, uid);
    return { row: key({ id, hashedSecret: hashSecret(secret) }), token: `${id}-${secret}` };
  };

  it("to the object that it was created for, even without a stored token", () => {
    const { row, token } = issued("1");
    expect(isOwnKey(row, { uid: "1", held: [] })).toBe(true);
    expect(isCopiedToken(token, "1")).toBe(false);
  });

  it("to every other object, also to one with a copy", () => {
    const { row, token } = issued("1");
    expect(isOwnKey(row, { uid: "2", held: [token] })).toBe(false);
    expect(isCopiedToken(`${token}\n`, "2")).toBe(true);
    expect(planApiKey(token, [row], { now: NOW, uid: "2" })).toEqual({
      do: "issue",
      because: "copied",
      stillValid: row,
    });
  });

  it("unless an earlier version wrote it: then it is of those who hold it", () => {
    expect(isOwnKey(key(), { uid: "1", held: [HELD] })).toBe(true);
    expect(isOwnKey(key(), { uid: "1", held: [HELD.toUpperCase(), "nonsense"] })).toBe(false);
    expect(isOwnKey(key(), { uid: "1", held: [] })).toBe(false);
    expect(isCopiedToken(HELD, "1")).toBe(false);
    expect(isCopiedToken("nonsense", "1")).toBe(false);
  });
});

describe("the plan for a stored token", () => {
  it("is to keep it while it is valid, also with blanks around it", () => {
    expect(planApiKey(HELD, [key()], { now: NOW, uid: "1" })).toEqual({
      do: "keep",
      key: key(),
      token: HELD,
    });
    expect(planApiKey(`${HELD}\n`, [key()], { now: NOW, uid: "1" })).toMatchObject({
      do: "keep",
      token: HELD,
    });
  });

  it.each([
    ["missing", undefined, [key()]],
    ["missing", " \n", [key()]],
    ["unknown", HELD, []],
    ["unknown", "nonsense", [key()]],
    ["unknown", `9876543210-${SECRET}`, [key()]],
    ["wrongSecret", `0123456789-${SECRET.toUpperCase()}`, [key()]],
    ["wrongSecret", HELD, [key({ hashedSecret: Buffer.alloc(3) })]],
    ["expired", HELD, [key({ expiresAt: NOW })]],
  ] as const)("is to issue another, since it is %s", (because, held, keys) => {
    expect(planApiKey(held, keys, { now: NOW, uid: "1" })).toEqual({ do: "issue", because });
  });

  it("is to issue another before it expires, and to keep it valid until then", () => {
    const ending = key({ expiresAt: NOW + RENEW_BEFORE_MS - 1 });
    expect(planApiKey(HELD, [ending], { now: NOW, uid: "1" })).toEqual({
      do: "issue",
      because: "expiring",
      stillValid: ending,
    });
    expect(planApiKey(HELD, [key({ expiresAt: NOW + RENEW_BEFORE_MS })], { now: NOW, uid: "1" }).do).toBe(
      "keep",
    );
  });

  it("is to issue another on request, and to keep it valid until then", () => {
    expect(planApiKey(HELD, [key()], { now: NOW, uid: "1", replace: true })).toEqual({
      do: "issue",
      because: "requested",
      stillValid: key(),
    });
  });

  it("is to issue another if it lacks permissions", () => {
    const restricted = key({ fullAccess: false });
    expect(planApiKey(HELD, [restricted], { now: NOW, uid: "1" })).toEqual({
      do: "issue",
      because: "restricted",
      stillValid: restricted,
    });
  });
});
