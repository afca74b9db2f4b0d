import { describe, expect, test } from "vitest";
import { configMap, following } from "../../test/support/following.ts";
import type { VirtualClock } from "../../testing/clock.ts";
import {
  answers,
  cutAfter,
  drips,
  endsAtOnce,
  type Fault,
  neverAnswers,
  offline,
  silent,
  when,
} from "../../testing/faulty-transport.ts";
import { ConfigMap } from "../kinds.ts";

const MINUTE = 60_000;
const watches = ({ path }: { path: string }) => path.includes("watch=true");

describe.each([
  ["the connection is refused", () => offline],
  ["no answer ever comes", () => neverAnswers],
  ["bodies stay silent", () => silent],
  ["bodies drip", (clock) => drips(clock, 1_000)],
  ["bodies end at once", () => endsAtOnce],
  ["bodies are cut", () => cutAfter(20)],
  ["proxies answer with HTML", () => answers(200)],
  ["the credentials are refused", () => answers(401)],
  ["the role is missing", () => answers(403)],
  ["the kind is missing", () => answers(404)],
  ["the history is always gone", () => answers(410)],
  ["requests are invalid", () => answers(422)],
  ["requests are throttled", () => answers(429, { "retry-after": "1" })],
  ["the server has an error", () => answers(500)],
  ["the server is overloaded", () => answers(503)],
  ["watches fail with an error event", () => when(watches, answers(200, {}, `${errorEvent(500)}\n`))],
  ["watches fail with an unknown version", () => when(watches, answers(200, {}, `${errorEvent(410)}\n`))],
] satisfies [string, (clock: VirtualClock) => Fault][])("while %s", (_, faultOf) => {
  test("a watcher that is listing backs off, keeps trying, and recovers", async () => {
    const it = following();
    it.transport.fault = faultOf(it.clock);
    await it.clock.advance(10 * MINUTE);
    expectCalm(it.transport.requests.length);
    await it.other.create(ConfigMap, configMap("late"));
    it.transport.fault = undefined;
    await it.clock.advance(2 * MINUTE);
    expect(it.seen.slice(it.seen.lastIndexOf("init"))).toEqual(["init", "initApply late", "initDone"]);
  });

  test("a watcher that has listed backs off, keeps trying, and misses nothing", async () => {
    const it = following();
    await it.clock.advance(0);
    it.transport.fault = faultOf(it.clock);
    it.transport.cutWatches();
    it.transport.requests.length = 0;
    await it.clock.advance(10 * MINUTE);
    expectCalm(it.transport.requests.length);
    await it.other.create(ConfigMap, configMap("late"));
    it.transport.fault = undefined;
    await it.clock.advance(2 * MINUTE);
    expect(it.seen.filter((event) => event.endsWith("late"))).toHaveLength(1);
  });
});

function errorEvent(code: number): string {
  const reason = code === 410 ? "Expired" : "InternalError";
  return JSON.stringify({ type: "ERROR", object: { kind: "Status", code, reason, message: reason } });
}

/** Within ten minutes: at most one request every three seconds, and no silence. */
function expectCalm(requests: number): void {
  expect(requests).toBeLessThan(200);
  expect(requests).toBeGreaterThan(4);
}
