import { startOperatorCluster } from "../../lab/cluster.ts";
import { startBundle } from "../operator.ts";
import { settledResident, untilCalm } from "../proc.ts";
import { median, timed, type Workload } from "../workload.ts";

/** The life of an idle operator. */
export const processLife: Workload = {
  name: "process",
  title: "Start, idle, stop",
  async run({ runs }, report) {
    await using cluster = await startOperatorCluster();
    const namespace = await cluster.createNamespace("bench");
    await untilCalm(cluster.apiServerPid);
    const samples = { ready: [] as number[], idle: [] as number[], exit: [] as number[] };
    for (let run = 1; run <= runs; run++) {
      const startedAt = performance.now();
      await using operator = await startBundle(cluster, namespace);
      samples.ready.push(performance.now() - startedAt);
      samples.idle.push(await settledResident(operator.program.pid));
      samples.exit.push(await timed(() => operator.stop("SIGTERM")));
      report(`run ${run} of ${runs}`);
    }
    return [
      { what: "start to ready", value: median(samples.ready) / 1_000, unit: "s", limit: 0.7 },
      { what: "resident memory when idle", value: median(samples.idle), unit: "MB", limit: 85 },
      { what: "SIGTERM to exit, Lease released", value: median(samples.exit) / 1_000, unit: "s", limit: 0.5 },
    ];
  },
};
