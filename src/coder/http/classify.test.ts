import { expect, test } from "vitest";
import { number, record } from "../decode.ts";
import type { Answer } from "./answer.ts";
import { classify } from "./classify.ts";

const SECRET = "the-token-of-the-request";
const HOSTILE = `${SECRET} postgres://u:hunter2@db/coder ${"x".repeat(100_000)}`;
const subject = { request: "GET /x at http://coder", secrets: [SECRET], now: 0 };

function messageOf(answer: Partial<Answer>): string {
  const whole = { status: 200, contentType: "application/json", body: "", ...answer } as Answer;
  const result = classify(whole, record(number), subject);
  if (result.ok) throw new Error("succeeded");
  return result.failure.message;
}

test.for<[string, Partial<Answer>, string]>([
  [
    "the reason of a Status",
    { status: 403, body: JSON.stringify({ kind: "Status", apiVersion: "v1", reason: HOSTILE }) },
    "rejected by an intermediary",
  ],
  ["a content type", { contentType: HOSTILE, body: "no" }, "instead of JSON"],
  ["a field's name", { body: JSON.stringify({ [HOSTILE]: "no" }) }, "GET /x at http://coder: ."],
])("%s that a server chose is masked and cut", ([, answer, expected]) => {
  const message = messageOf(answer);
  expect(message).toContain(expected);
  expect(message).not.toContain(SECRET);
  expect(message).not.toContain("hunter2");
  expect(message.length).toBeLessThan(500);
});

const INTERNAL = "An internal error occurred. Please try again or contact the system administrator.";

test.for<[string, number, object, object]>([
  [
    "an unknown token",
    401,
    { message: "You are signed out." },
    { kind: "forbidden", why: "unauthenticated" },
  ],
  [
    "a token that coderd could not look up",
    401,
    { message: INTERNAL, detail: "Internal error fetching API key by id. dial tcp: connection refused" },
    { kind: "transient", why: "database" },
  ],
  [
    "the same, as later versions answer",
    500,
    { message: INTERNAL, detail: "Internal error fetching API key by id. pq: the database system is down" },
    { kind: "transient", why: "database" },
  ],
  ["another internal error", 500, { message: INTERNAL, detail: "No OAuth2Configs" }, { kind: "transient" }],
])("%s (HTTP %i) is distinguished from the others", ([, status, body, expected]) => {
  const answer = { status, contentType: "application/json", body: JSON.stringify(body) } as Answer;
  const result = classify(answer, record(number), subject);
  if (result.ok) return expect.fail("succeeded");
  expect(result.failure).toMatchObject(expected);
  expect(result.failure).toHaveProperty("message", expect.not.stringContaining("refused"));
  expect("why" in result.failure && result.failure.why).toBe("why" in expected && expected.why);
});
