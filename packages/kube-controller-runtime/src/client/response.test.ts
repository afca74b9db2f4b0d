import { describe, expect, test } from "vitest";
import { isAlreadyExists, isConflict, isExpired, isForbidden, isNotFound } from "./error.ts";
import { errorFromResponse, errorFromStatus, readText } from "./response.ts";

async function* chunks(...parts: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield typeof part === "string" ? Buffer.from(part) : part;
}

const failed = (status: number, body: string | object, headers: Record<string, string> = {}) =>
  errorFromResponse('get Secret "n/a"', {
    status,
    headers,
    body: chunks(typeof body === "string" ? body : JSON.stringify(body)),
  });

describe("the error of a response", () => {
  test("says what was asked and what the server said", async () => {
    const body = {
      kind: "Status",
      code: 409,
      reason: "AlreadyExists",
      message: 'secrets "a" already exists',
    };
    const error = await failed(409, body);
    expect(error.message).toBe('get Secret "n/a": secrets "a" already exists');
    expect(error).toMatchObject({
      name: "ApiError",
      reason: "AlreadyExists",
      code: 409,
      retryAfter: undefined,
    });
    expect(isAlreadyExists(error)).toBe(true);
    expect(isConflict(error)).toBe(false);
  });

  test.each([
    [400, "BadRequest"],
    [401, "Unauthorized"],
    [403, "Forbidden"],
    [404, "NotFound"],
    [409, "Conflict"],
    [410, "Gone"],
    [422, "Invalid"],
    [429, "TooManyRequests"],
    [500, "InternalError"],
    [502, "InternalError"],
    [503, "ServiceUnavailable"],
    [504, "Timeout"],
  ])("takes the reason from code %d when a proxy answers in HTML", async (code, reason) => {
    const error = await failed(code, "<html><body>secret page</body></html>");
    expect(error).toMatchObject({ code, reason, message: `get Secret "n/a": HTTP ${code}` });
  });

  test("is the same when the body is JSON of another kind, or breaks off", async () => {
    expect(await failed(403, { message: "no status" })).toMatchObject({ reason: "Forbidden" });
    expect(await failed(403, "null")).toMatchObject({ reason: "Forbidden" });
    const broken = (async function* () {
      yield Buffer.from("{");
      throw new Error("cut");
    })();
    expect(await errorFromResponse("get", { status: 403, headers: {}, body: broken })).toMatchObject({
      code: 403,
    });
  });

  test.each([
    ["the header", { "retry-after": "7" }, {}, 7_000],
    ["the body, which is about this failure", { "retry-after": "7" }, { retryAfterSeconds: 3 }, 3_000],
    ["a header that is a date: none", { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" }, {}, undefined],
    ["neither: none", {}, {}, undefined],
  ])("takes the wait from %s", async (_, headers, details, expected) => {
    const error = await failed(
      429,
      { kind: "Status", code: 429, details },
      headers as Record<string, string>,
    );
    expect(error.retryAfter).toBe(expected);
  });

  test("hides passwords in URLs that the server quotes", async () => {
    const message = 'Invalid value: "postgres://coder:hunter2@db:5432/coder"';
    const error = await failed(422, { kind: "Status", message });
    expect(error.message).not.toContain("hunter2");
    expect(error.message).toContain("postgres://[redacted]");
  });
});

test("the predicates look at the reason; gone history also shows in the code alone", () => {
  const of = (reason: string, code: number) => errorFromStatus("x", { reason, code }, 0);
  expect(isNotFound(of("NotFound", 404))).toBe(true);
  expect(isForbidden(of("Forbidden", 403))).toBe(true);
  expect(isConflict(of("Conflict", 409))).toBe(true);
  expect([isExpired(of("Expired", 410)), isExpired(of("Gone", 410)), isExpired(of("", 410))]).toEqual([
    true,
    true,
    true,
  ]);
  expect([isExpired(of("NotFound", 404)), isExpired(new Error("410"))]).toEqual([false, false]);
});

test("a body is read as UTF-8, regardless of its chunks", async () => {
  const bytes = Buffer.from("grüße 🌍");
  const parts = [...bytes].map((byte) => Uint8Array.of(byte));
  expect(await readText(chunks(...parts))).toBe("grüße 🌍");
});

test("a body that would fill the memory is refused", async () => {
  const megabyte = new Uint8Array(1024 * 1024);
  const endless = (async function* () {
    for (;;) yield megabyte;
  })();
  await expect(readText(endless)).rejects.toMatchObject({ reason: "ResponseTooLarge" });
});
