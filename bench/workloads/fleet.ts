import { setTimeout as sleep } from "node:timers/promises";
import { type Postgres, startPostgres } from "../../lab/postgres.ts";
import { type Fleet, prepareFleet } from "../fleet/fleet.ts";
import {
  FIRST_STATUS_GOAL_S,
  GO_GOALS,
  goalsOf,
  growthGoal,
  MEDIAN_SHARE_GOAL,
  PAIR_GOAL,
  SLOW_CODERD_GOAL,
  YARDSTICK_GOAL,
} from "../fleet/goals.ts";
import { startGo } from "../fleet/operators.ts";
import type { FleetShape } from "../fleet/shape.ts";
import { peakResident, processorSeconds } from "../proc.ts";
import { operatorRequests, type Period, writesBesidesRefreshes } from "../requests.ts";
import { attempted, type Figure, median, type Report, type Workload } from "../workload.ts";

const LATENCIES_MS = [0, 100];
/** For slow coderds: a larger fleet only takes longer. */
const MAX_REQUESTS_BEFORE_SLOW = 200;
/** The first checks of coderd's health and queue, fifteen seconds after the start, cause the last writes. */
const SETTLE_MS = 20_000;
const IDLE_MS = 30_000;
/** The Go operator takes minutes for a larger fleet. */
const MAX_OF_GO = 200;

const TIME = "time";
const PROCESSOR_TIME = "processor time, start included";
const REQUESTS_OF_PAIR = "requests for a pair";

/** Control planes and provisioners, all created at once, until each of them has converged. */
export const fleets: Workload = {
  name: "fleet",
  title: "A fleet from creation to converged",
  async run({ sizes }, report) {
    await using resources = new AsyncDisposableStack();
    const postgres = await startPostgres();
    resources.defer(() => postgres.stop());
    const figures: Figure[] = [];
    const all: Duration[] = [];
    for (const latencyMs of LATENCIES_MS) {
      const durations: Duration[] = [];
      for (const size of sizes.filter((each) => latencyMs === 0 || each <= MAX_REQUESTS_BEFORE_SLOW)) {
        const shape = { size, latencyMs };
        report(titleOf(shape));
        // An idle fleet with a slow coderd behaves the same, and a larger one almost the same: see `steady`.
        const idle = latencyMs === 0 && size === sizes[0];
        const measured = await attempted(titleOf(shape), report, () =>
          measure(shape, { postgres, report, idle }),
        );
        figures.push(...measured);
        figures.push(...(await besideGo(measured, shape, { postgres, report })));
        // The first figure is the time, or the failure.
        durations.push({ ...shape, seconds: measured[0]?.value ?? Number.NaN });
      }
      figures.push(...growth(durations, latencyMs));
      all.push(...durations);
    }
    return [...figures, ...slowness(all)];
  },
};

interface Duration extends FleetShape {
  readonly seconds: number;
}

interface Conditions {
  readonly postgres: Postgres;
  readonly report: Report;
  /** Whether to observe the fleet for a while after it has converged. */
  readonly idle: boolean;
}

async function measure(shape: FleetShape, { postgres, report, idle }: Conditions): Promise<Figure[]> {
  await using fleet = await prepareFleet(shape, postgres);
  const ownBefore = process.cpuUsage();
  const from = new Date();
  const { medianShare, firstStatusMs } = await fleet.converge(report);
  const to = new Date();
  const own = process.cpuUsage(ownBefore);
  const readings = await read(fleet);
  await sleep(SETTLE_MS);
  const seconds = (to.getTime() - from.getTime()) / 1_000;
  const figures: Figure[] = [
    ...(await costs(fleet, { from, to }, readings)),
    {
      what: "half are ready after this part of the time",
      value: medianShare,
      unit: "×",
      limit: MEDIAN_SHARE_GOAL,
    },
    { what: "first status, median", value: median(firstStatusMs) / 1_000, unit: "s" },
    {
      what: "first status, longest",
      value: Math.max(...firstStatusMs) / 1_000,
      unit: "s",
      limit: FIRST_STATUS_GOAL_S,
    },
    { what: "processor time of the workload itself", value: (own.user + own.system) / 1e6, unit: "s" },
    ...(idle ? [await idleWrites(fleet)] : []),
  ];
  const baselineSeconds = await fleet.rewritePlainly();
  figures.push(
    { what: "the same writes from a plain client: time", value: baselineSeconds, unit: "s" },
    { what: "time in terms of that", value: seconds / baselineSeconds, unit: "×", limit: YARDSTICK_GOAL },
  );
  return figures.map((figure) => ({ ...figure, what: `${titleOf(shape)}: ${figure.what}` }));
}

/**
 * The Go operator before the same fleet, if the environment names its binary, and what ours took in terms of that.
 */
async function besideGo(
  ours: readonly Figure[],
  shape: FleetShape,
  { postgres, report }: Pick<Conditions, "postgres" | "report">,
): Promise<Figure[]> {
  const binary = process.env.GO_OPERATOR;
  if (!binary || shape.size > MAX_OF_GO) return [];
  const what = `${titleOf(shape)}: the Go operator`;
  report(what);
  return attempted(what, report, async () => {
    await using fleet = await prepareFleet(shape, postgres, startGo(binary));
    const from = new Date();
    await fleet.converge(report);
    const to = new Date();
    const taken = await costs(fleet, { from, to }, await read(fleet));
    const compared = [TIME, PROCESSOR_TIME, REQUESTS_OF_PAIR].flatMap((name) => find(taken, name) ?? []);
    const ratio = (name: string, limit: number): Figure => {
      const own = ours.find((figure) => figure.what === `${titleOf(shape)}: ${name}`);
      const value = (own?.value ?? Number.NaN) / (find(taken, name)?.value ?? Number.NaN);
      return { what: `${titleOf(shape)}: ${name}, in terms of the Go operator's`, value, unit: "×", limit };
    };
    return [
      ...compared.map(({ what: name, value, unit }) => ({
        what: `${what}'s ${name}`,
        value,
        unit,
      })),
      ratio(TIME, GO_GOALS.time),
      ratio(PROCESSOR_TIME, GO_GOALS.processorTime),
    ];
  });
}

function find(figures: readonly Figure[], name: string): Figure | undefined {
  return figures.find(({ what }) => what === name);
}

interface Readings {
  readonly processorSeconds: number;
  readonly peakMB: number;
  readonly coderdRequests: number;
  readonly entitlementCalls: number;
}

async function read({ operator, coderds }: Fleet): Promise<Readings> {
  const { pid } = operator.program;
  const [seconds, peakMB] = await Promise.all([processorSeconds(pid), peakResident(pid)]);
  const coderdRequests = coderds.requests();
  return { processorSeconds: seconds, peakMB, coderdRequests, entitlementCalls: coderds.entitlementCalls() };
}

async function costs(
  { cluster, shape, user }: Fleet,
  { from, to }: Period,
  readings: Readings,
): Promise<Figure[]> {
  const goals = goalsOf(shape);
  const until = await operatorRequests(cluster, { from, to }, user);
  const all = await operatorRequests(cluster, { from, to: new Date() }, user);
  const calls = readings.entitlementCalls;
  return [
    { what: TIME, value: (to.getTime() - from.getTime()) / 1_000, unit: "s" },
    { what: "requests", value: until.length, unit: "" },
    { what: REQUESTS_OF_PAIR, value: until.length / shape.size, unit: "each", limit: PAIR_GOAL },
    { what: "requests, later reports included", value: all.length, unit: "" },
    { what: "requests to coderd", value: readings.coderdRequests, unit: "", limit: goals.coderdRequests },
    {
      what: PROCESSOR_TIME,
      value: readings.processorSeconds,
      unit: "s",
      limit: goals.processorSeconds,
    },
    { what: "peak of resident memory", value: readings.peakMB, unit: "MB", limit: goals.peakMB },
    { what: "entitlement calls to coderd", value: calls, unit: "", limit: goals.entitlementCalls },
  ];
}

async function idleWrites({ cluster, coderds }: Fleet): Promise<Figure> {
  const [from, before] = [new Date(), coderds.entitlementCalls()];
  await sleep(IDLE_MS);
  const requests = await operatorRequests(cluster, { from, to: new Date() });
  const value = writesBesidesRefreshes(requests, coderds.entitlementCalls() - before);
  return { what: `writes in ${IDLE_MS / 1_000} s of idleness afterwards`, value, unit: "", limit: 0 };
}

function growth(durations: readonly Duration[], latencyMs: number): Figure[] {
  return durations.slice(1).map(({ size, seconds }, index) => {
    const from = durations[index] ?? { size, seconds };
    const what = `growth of time, ${from.size} → ${size}, coderd ${latencyMs} ms`;
    return { what, value: seconds / from.seconds, unit: "×", limit: growthGoal(from.size, size) };
  });
}

/** How many times as long a fleet takes before slow coderds. */
function slowness(durations: readonly Duration[]): Figure[] {
  const [quick, slow] = LATENCIES_MS.map((latencyMs) =>
    durations.filter((duration) => duration.latencyMs === latencyMs),
  );
  return (slow ?? []).flatMap(({ size, latencyMs, seconds }) => {
    const { seconds: atOnce = Number.NaN } = quick?.find((duration) => duration.size === size) ?? {};
    const what = `time of ${size} + ${size} with coderd ${latencyMs} ms, in terms of 0 ms`;
    return [{ what, value: seconds / atOnce, unit: "×", limit: SLOW_CODERD_GOAL }];
  });
}

function titleOf({ size, latencyMs }: FleetShape): string {
  return `${size} + ${size}, coderd ${latencyMs} ms`;
}
