import { afterEach, expect, test, vi } from "vitest";
import { describe as describeIncident, durationOf, type Incident, laneOf } from "./incidents.ts";
import { drawSchedule, type ScheduleOptions } from "./schedule.ts";

const MINUTES_3 = 3 * 60_000;
const SEEDS = Array.from({ length: 40 }, (_, seed) => seed);
const draw = (seed: number, changes: Partial<ScheduleOptions> = {}) =>
  drawSchedule({ seed, durationMs: MINUTES_3, objects: 8, ...changes });

afterEach(() => vi.restoreAllMocks());

test("the same seed gives the same schedule, and asks neither the clock nor chance", () => {
  const first = draw(7);
  for (const [source, name] of [
    [Math, "random"],
    [Date, "now"],
    [performance, "now"],
  ] as const)
    vi.spyOn(source as typeof Math, name as "random").mockImplementation(() => {
      throw new Error("a schedule depends on its seed alone");
    });
  expect(draw(7)).toEqual(first);
});

test("another seed gives another schedule", () => {
  const lines = SEEDS.map((seed) =>
    draw(seed)
      .planned.map(({ incident }) => describeIncident(incident))
      .join(),
  );
  expect(new Set(lines).size).toBe(SEEDS.length);
});

test("a longer campaign starts like a shorter one of the same fleet, except for its end", () => {
  const longer = draw(7).planned;
  const shorter = draw(7, { durationMs: MINUTES_3 / 2 }).planned;
  expect(longer.slice(0, 10)).toEqual(shorter.slice(0, 10));
});

test("incidents of one lane never overlap, and all are over when the campaign is", () => {
  for (const seed of SEEDS) {
    const busyUntil = new Map<string, number>();
    for (const { atMs, incident } of draw(seed).planned) {
      expect(atMs).toBeGreaterThanOrEqual(busyUntil.get(laneOf(incident)) ?? 0);
      expect(atMs + durationOf(incident)).toBeLessThanOrEqual(MINUTES_3);
      busyUntil.set(laneOf(incident), atMs + durationOf(incident));
    }
  }
});

test("the final fleet is what users requested last", () => {
  const { before, planned, after } = draw(3);
  const wishes = planned.flatMap(({ incident }) => ("wish" in incident ? [incident.wish] : []));
  expect(wishes.length).toBeGreaterThan(10);
  expect(after).toEqual(new Map([...before, ...wishes.map((wish) => [wish.name, wish] as const)]));
});

test("every kind of incident occurs", () => {
  const drawn = SEEDS.flatMap((seed) => draw(seed).planned.map(({ incident }) => incident));
  const kinds: readonly Incident["what"][] = [
    "apiServerRestart",
    "change",
    "clockStep",
    "coderd",
    "etcdPause",
    "network",
    "operatorEnd",
    "operatorPause",
    "postgresRestart",
    "recreation",
    "secretDeletion",
  ];
  expect(new Set(drawn.map(({ what }) => what))).toEqual(new Set(kinds));
  const faults = drawn.flatMap((incident) => (incident.what === "coderd" ? [incident.injection.fault] : []));
  const statuses = faults.flatMap((fault) => (fault.kind === "answer" ? [fault.status] : []));
  expect(new Set(statuses)).toEqual(new Set([401, 403, 404, 409, 500, 502, 503]));
});

test("a name that a user chose is never chosen twice", () => {
  for (const seed of SEEDS) {
    const { before, planned } = draw(seed);
    const wishes = [
      ...before.values(),
      ...planned.flatMap(({ incident }) => ("wish" in incident ? [incident] : [])),
    ];
    const names = wishes.flatMap((step) => {
      if (!("wish" in step)) return "proxyName" in step ? [step.proxyName] : [];
      const renames = step.what === "recreation" || step.of === "the name";
      return renames && "proxyName" in step.wish ? [step.wish.proxyName] : [];
    });
    expect(new Set(names).size).toBe(names.length);
  }
});

test("a schedule with quick recovery contains no silent fault", () => {
  for (const seed of SEEDS) {
    const lines = draw(seed, { quickToHeal: true }).planned.map(({ incident }) => describeIncident(incident));
    expect(
      lines.filter((line) => /stall|rateLimited|drip|stopped for/.test(line) && !line.startsWith("etcd")),
    ).toEqual([]);
  }
});
