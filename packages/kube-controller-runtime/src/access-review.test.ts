import { expect, test } from "vitest";
import { VirtualClock } from "../testing/clock.ts";
import { stubClient } from "../testing/stub-client.ts";
import { reviewAccess } from "./access-review.ts";
import { serveMetrics } from "./http.ts";
import type { Kind, KubeObject } from "./object.ts";

interface Review extends KubeObject {
  spec: { token?: string; user?: string; groups?: string[]; nonResourceAttributes?: object };
}

/** An API server that knows the scraper, which may read metrics, and a guest, which may not. */
function setUp() {
  const clock = new VirtualClock();
  const asked: Review["spec"][] = [];
  const create = async ({ kind }: Kind, { spec }: Review) => {
    asked.push(spec);
    if (kind === "SubjectAccessReview") return { status: { allowed: spec.user === "scraper" } };
    if (spec.token === "broken") throw new Error("the API server could not be reached");
    const authenticated = spec.token === "scraper" || spec.token === "guest";
    return { status: { authenticated, user: { username: spec.token, groups: ["system:authenticated"] } } };
  };
  return { clock, asked, authorize: reviewAccess(stubClient({ create }), clock) };
}

test.each([
  [undefined, "unauthenticated"],
  ["Basic c2NyYXBlcg==", "unauthenticated"],
  ["Bearer ", "unauthenticated"],
  ["Bearer unknown", "unauthenticated"],
  ["Bearer guest", "forbidden"],
  ["Bearer scraper", "allowed"],
])("the header %j is %s", async (header, access) => {
  expect(await setUp().authorize(header, "/metrics")).toBe(access);
});

test("the API server identifies the user and authorizes the path", async () => {
  const { asked, authorize } = setUp();
  await authorize("Bearer scraper", "/metrics");
  expect(asked).toEqual([
    { token: "scraper" },
    expect.objectContaining({
      user: "scraper",
      groups: ["system:authenticated"],
      nonResourceAttributes: { path: "/metrics", verb: "get" },
    }),
  ]);
});

test("a permission is believed for a minute, a refusal for ten seconds, a failure not at all", async () => {
  const { clock, asked, authorize } = setUp();
  for (const token of ["scraper", "scraper", "guest", "guest"])
    await authorize(`Bearer ${token}`, "/metrics");
  expect(asked).toHaveLength(4);
  await clock.advance(30_000);
  for (const token of ["scraper", "guest"]) await authorize(`Bearer ${token}`, "/metrics");
  expect(asked).toHaveLength(6);
  await clock.advance(31_000);
  await authorize("Bearer scraper", "/metrics");
  expect(asked).toHaveLength(8);
  for (let attempt = 1; attempt <= 2; attempt++)
    await expect(authorize("Bearer broken", "/metrics")).rejects.toThrow("could not be reached");
  expect(asked).toHaveLength(10);
});

test("a flood of made-up tokens asks the API server a few questions at a time", async () => {
  const { asked, authorize } = setUp();
  const flood = Array.from({ length: 100 }, (_, index) => authorize(`Bearer made-up-${index}`, "/metrics"));
  const answers = await Promise.all(flood);
  expect(asked.length).toBeLessThanOrEqual(4);
  expect(answers.filter((access) => access === "busy")).toHaveLength(96);
});

test("metrics answer 401, 403 or 200 depending on the permissions of the bearer", async () => {
  const { authorize } = setUp();
  const registry = { contentType: "text/plain", metrics: async () => "a_metric 1\n" };
  const server = await serveMetrics({ address: "127.0.0.1:0", registry, authorize });
  const scrape = async (token?: string) => {
    const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
    const response = await fetch(`http://127.0.0.1:${server?.port}/metrics`, { headers });
    return { status: response.status, body: await response.text() };
  };
  expect(await scrape("scraper")).toEqual({ status: 200, body: "a_metric 1\n" });
  expect(await scrape("guest")).toEqual({ status: 403, body: "forbidden\n" });
  expect(await scrape()).toEqual({ status: 401, body: "bearer token required\n" });
  expect((await scrape("broken")).status).toBe(500);
  await server?.close();
});
