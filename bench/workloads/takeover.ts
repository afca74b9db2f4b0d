import { setTimeout as sleep } from "node:timers/promises";
import type { OperatorProcess } from "../../lab/operator-process.ts";
import { type Postgres, startPostgres } from "../../lab/postgres.ts";
import { type Fleet, prepareFleet } from "../fleet/fleet.ts";
import type { FleetOperator } from "../fleet/operators.ts";
import { untilLeading } from "../operator.ts";
import { untilCalm } from "../proc.ts";
import { operatorRequests, writesBesidesRefreshes } from "../requests.ts";
import { attempted, type Figure, type Report, type Workload } from "../workload.ts";

/** The first checks of coderd's health and queue, fifteen seconds after the start, cause the last writes. */
const SETTLE_MS = 20_000;

/** A new leader has checked all objects well before. */
const PERIOD_MS = 20_000;

const ENOUGH = 200;

const ENDINGS = ["SIGTERM", "SIGKILL"] as const;

/** A converged fleet whose leader ends: the requests of the next leader. */
export const takeovers: Workload = {
  name: "takeover",
  title: "A converged fleet gets another leader",
  async run({ sizes }, report) {
    await using resources = new AsyncDisposableStack();
    const postgres = await startPostgres();
    resources.defer(() => postgres.stop());
    // The work per object is constant, so one size is sufficient.
    const size = sizes.find((each) => each >= ENOUGH) ?? sizes.at(-1) ?? ENOUGH;
    return await attempted(titleOf(size), report, () => measure(size, { postgres, report }));
  },
};

async function measure(
  size: number,
  { postgres, report }: { readonly postgres: Postgres; readonly report: Report },
): Promise<Figure[]> {
  await using fleet = await prepareFleet({ size, latencyMs: 0 }, postgres);
  await fleet.converge(report);
  await sleep(SETTLE_MS);
  const figures: Figure[] = [];
  let leader: FleetOperator = fleet.operator;
  for (const ending of ENDINGS) {
    report(`${titleOf(size)}: ${ending}`);
    const next = await fleet.startStandby();
    await untilCalm(next.program.pid);
    figures.push(...(await takeOver(fleet, { leader, next, ending })));
    leader = next;
  }
  return figures.map((figure) => ({ ...figure, what: `${titleOf(size)}, ${figure.what}` }));
}

async function takeOver(
  { cluster, coderds }: Fleet,
  {
    leader,
    next,
    ending,
  }: {
    readonly leader: FleetOperator;
    readonly next: OperatorProcess;
    readonly ending: (typeof ENDINGS)[number];
  },
): Promise<Figure[]> {
  const [from, calls] = [new Date(), coderds.entitlementCalls()];
  leader.program.signal(ending);
  await untilLeading(next);
  await sleep(PERIOD_MS);
  const requests = await operatorRequests(cluster, { from, to: new Date() });
  const writes = writesBesidesRefreshes(requests, coderds.entitlementCalls() - calls);
  return [
    { what: `${ending} of the leader: requests of the next`, value: requests.length, unit: "" },
    {
      what: `${ending} of the leader: writes besides the refresh of entitlements`,
      value: writes,
      unit: "",
      limit: 0,
    },
  ];
}

function titleOf(size: number): string {
  return `${size} + ${size}`;
}
