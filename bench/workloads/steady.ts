import { setTimeout as sleep } from "node:timers/promises";
import { type Postgres, startPostgres } from "../../lab/postgres.ts";
import { type Fleet, prepareFleet } from "../fleet/fleet.ts";
import { processorSeconds } from "../proc.ts";
import { operatorRequests, writesAmong, writesBesidesRefreshes } from "../requests.ts";
import { attempted, type Figure, type Report, type Workload } from "../workload.ts";

/** The first checks of coderd's health and queue, fifteen seconds after the start, cause the last writes. */
const SETTLE_MS = 20_000;
const ENOUGH = 200;
const PERIOD_MS = 60_000;
/** For each coderd: jobs and daemons once, keys and entitlements every other time, and one spare request. */
const CODERD_REQUESTS = 4;

/** The operator's work for a fleet without changes. */
export const steadyFleets: Workload = {
  name: "steady",
  title: "A converged fleet for 60 s",
  async run({ sizes }, report) {
    await using resources = new AsyncDisposableStack();
    const postgres = await startPostgres();
    resources.defer(() => postgres.stop());
    // The work per object is constant, so one size is sufficient.
    const size = sizes.find((each) => each >= ENOUGH) ?? sizes.at(-1) ?? ENOUGH;
    const what = `${size} + ${size}`;
    report(what);
    return await attempted(what, report, () => measure(size, { postgres, report }));
  },
};

interface Conditions {
  readonly postgres: Postgres;
  readonly report: Report;
}

async function measure(size: number, { postgres, report }: Conditions): Promise<Figure[]> {
  await using fleet = await prepareFleet({ size, latencyMs: 0 }, postgres);
  await fleet.converge(report);
  await sleep(SETTLE_MS);
  const [from, before] = [new Date(), await used(fleet)];
  await sleep(PERIOD_MS);
  const [to, after] = [new Date(), await used(fleet)];
  const requests = await operatorRequests(fleet.cluster, { from, to });
  const refreshes = after.calls - before.calls;
  const others = writesBesidesRefreshes(requests, refreshes);
  const figures: Figure[] = [
    // One watch of each kind ends every three to four minutes.
    { what: "requests", value: requests.length, unit: "", limit: 10 },
    {
      what: "requests to coderd",
      value: after.coderdRequests - before.coderdRequests,
      unit: "",
      limit: size * CODERD_REQUESTS,
    },
    { what: "writes", value: writesAmong(requests), unit: "" },
    { what: "writes besides the refresh of entitlements", value: others, unit: "", limit: 0 },
    { what: "entitlement calls to coderd", value: refreshes, unit: "" },
    { what: "processor time", value: after.processor - before.processor, unit: "s" },
  ];
  return figures.map((figure) => ({ ...figure, what: `${size} + ${size}: ${figure.what}` }));
}

interface Used {
  readonly processor: number;
  readonly coderdRequests: number;
  readonly calls: number;
}

async function used({ operator, coderds }: Fleet): Promise<Used> {
  return {
    processor: await processorSeconds(operator.program.pid),
    coderdRequests: coderds.requests(),
    calls: coderds.entitlementCalls(),
  };
}
