import { copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "kube-controller-runtime";
import { collectEvidence } from "./collect-evidence.ts";
import type { Fleet } from "./fleet.ts";
import { describe, laneOf, seconds } from "./incidents.ts";
import { memoryIsBack, noCrashes, noLeaks, noWrites } from "./invariants/conduct.ts";
import { brokenInvariants } from "./invariants/state.ts";
import { markBelongings } from "./leftovers.ts";
import { Listener } from "./listener.ts";
import type { Memory } from "./operator/memory.ts";
import { perform } from "./perform.ts";
import { drawSchedule, type Schedule, type ScheduleOptions } from "./schedule.ts";
import { applyWish, remove } from "./user.ts";
import { startWorld, type World } from "./world.ts";

export interface CampaignOptions extends ScheduleOptions {
  /** How long everything may take to be well again once faults are over. */
  readonly healWithinMs: number;
  /** How long it must then stay well: what hung when the faults ended fails later. */
  readonly steadyMs: number;
  /** How long there must be no writes afterwards; 0 disables the check. */
  readonly quietMs: number;
  /** Where what the operators wrote is put when an invariant does not hold. */
  readonly logDir: string;
}

export type Report = (line: string) => void;

const LOOK_EVERY_MS = 1_000;
/** Events are gathered for five seconds before their number is written. */
const SETTLE_MS = 8_000;

/** Runs a campaign from an empty machine to an empty machine. Returns every invariant that did not hold. */
export async function runCampaign(options: CampaignOptions, report: Report): Promise<string[]> {
  const belongings = await markBelongings();
  const schedule = drawSchedule(options);
  const violations: string[] = [];
  try {
    violations.push(...(await inWorld(schedule, options, report)));
  } finally {
    violations.push(...(await belongings.left()));
  }
  return violations;
}

async function inWorld(schedule: Schedule, options: CampaignOptions, report: Report): Promise<string[]> {
  await using owned = new AsyncDisposableStack();
  const world = await startWorld(schedule.before, { owned, report });
  const listener = owned.use(new Listener(world));
  const violations = await campaignIn(world, schedule, { options, report });
  const said = await listener.said();
  await world.replicas.stop();
  violations.push(...noLeaks(said, listener.secrets), ...noCrashes(world.replicas.outputs));
  report(`looked for ${listener.secrets.size} secrets in ${said.length} texts`);
  if (violations.length > 0) await keepLogs(world, options, report);
  return violations;
}

interface Run {
  readonly options: CampaignOptions;
  readonly report: Report;
}

async function campaignIn(world: World, schedule: Schedule, run: Run): Promise<string[]> {
  const { options, report } = run;
  await Promise.all([...schedule.before.values()].map((wish) => applyWish(wish, world)));
  const start = await untilWell(schedule.before, world, run);
  if (start.length > 0) return start.map((violation) => `before any fault: ${violation}`);
  const before = await leadersMemory(world);
  const failures = await storm(world, schedule, report);
  report("the faults are over");
  const violations = failures.map(
    (failure) => `an incident could not be made to happen: ${messageOf(failure)}`,
  );
  violations.push(...(await untilWell(schedule.after, world, run)));
  if (violations.length > 0) return violations;
  violations.push(...(await quiet(schedule.after, world, options)));
  const after = await leadersMemory(world);
  report(`memory of the leader: ${describeMemory(before)} before, ${describeMemory(after)} after`);
  violations.push(...memoryIsBack(before, after), ...(await calmDeletion(schedule.after, world, report)));
  return violations;
}

/** Makes everything happen that the schedule says; resolves when the last of it is over. */
async function storm(world: World, { planned }: Schedule, report: Report): Promise<readonly unknown[]> {
  report(`${planned.length} incidents begin`);
  const lanes = new Lanes();
  const startedAt = performance.now();
  for (const { atMs, incident } of planned) {
    await sleep(Math.max(0, startedAt + atMs - performance.now()));
    lanes.add(laneOf(incident), async () => {
      report(describe(incident));
      await perform(incident, world);
    });
  }
  return lanes.ended();
}

/** PollState until all is well for a while, and gives back what is not when the time is over. */
async function untilWell(fleet: Fleet, world: World, { options, report }: Run): Promise<string[]> {
  const startedAt = performance.now();
  let lastBroken: string[] = [];
  for (let wellAt: number | undefined; ; await sleep(LOOK_EVERY_MS)) {
    const broken = await collectEvidence(fleet, world).then(brokenInvariants, (error) => [messageOf(error)]);
    const now = performance.now();
    wellAt = broken.length === 0 ? (wellAt ?? now) : undefined;
    if (broken.length > 0) lastBroken = broken;
    if (wellAt !== undefined && now - wellAt >= options.steadyMs) {
      report(`all is well after ${seconds(wellAt - startedAt)}`);
      return [];
    }
    if (now - startedAt > options.healWithinMs + options.steadyMs)
      return lastBroken.map((violation) => `after ${seconds(now - startedAt)}: ${violation}`);
  }
}

/** A while in which nothing happens: nothing is written, and all is as well after it as before. */
async function quiet(fleet: Fleet, world: World, { quietMs }: CampaignOptions): Promise<string[]> {
  if (quietMs === 0) return [];
  await sleep(SETTLE_MS);
  const { requests } = world.network;
  const before = requests.length;
  await sleep(quietMs);
  return [...noWrites(requests.slice(before)), ...brokenInvariants(await collectEvidence(fleet, world))];
}

async function leadersMemory({ replicas }: World): Promise<Memory> {
  const leader = replicas.find("leader");
  if (!leader) throw new Error("no operator leads");
  return replicas.memoryOf(leader);
}

function describeMemory({ heapMB, residentMB }: Memory): string {
  return `heap ${heapMB.toFixed(1)} MB, resident ${residentMB.toFixed(1)} MB`;
}

/** Where nothing is out of reach, nothing may be left behind, reported or not. */
async function calmDeletion(fleet: Fleet, world: World, report: Report): Promise<string[]> {
  const { reported } = await collectEvidence(fleet, world);
  for (const [orphan, why] of reported) report(`${orphan} was left behind during the faults: ${why}`);
  const guests = [...fleet.values()].filter(({ kind }) => kind !== "CoderControlPlane");
  await Promise.all(guests.map((wish) => remove(wish, world)));
  report(`${guests.length} objects are deleted`);
  const hosts = new Map([...fleet].filter(([, { kind }]) => kind === "CoderControlPlane"));
  const evidence = await collectEvidence(hosts, world);
  const late = [...evidence.reported.keys()].filter((orphan) => !reported.has(orphan));
  const unreported = brokenInvariants(evidence).filter((violation) =>
    violation.startsWith("no orphan at coderd"),
  );
  return [
    ...unreported,
    ...late.map((orphan) => `${orphan} was left behind though everything could be reached`),
  ];
}

/** Diagnostic output: the logs of the operators and of their dependencies. */
async function keepLogs(
  { cluster, replicas }: World,
  { logDir }: CampaignOptions,
  report: Report,
): Promise<void> {
  await mkdir(logDir, { recursive: true });
  const clusterDir = dirname(cluster.admin.kubeconfig);
  const logs = (await readdir(clusterDir)).filter((name) => name.endsWith(".log"));
  await Promise.all(logs.map((name) => copyFile(join(clusterDir, name), join(logDir, name))));
  await Promise.all(
    replicas.outputs.map((output, number) => writeFile(join(logDir, `operator-${number + 1}.log`), output)),
  );
  report(`the logs of all parts are in ${logDir}`);
}

/** Runs what belongs to one lane one after the other, and lanes side by side. */
class Lanes {
  readonly #lanes = new Map<string, Promise<void>>();
  readonly #failures: unknown[] = [];

  /** Runs `work` when all that was added to the lane before has ended, however it ended. */
  add(lane: string, work: () => Promise<void>): void {
    const before = this.#lanes.get(lane) ?? Promise.resolve();
    const after = before.then(work).catch((error) => {
      this.#failures.push(error);
    });
    this.#lanes.set(lane, after);
  }

  /** Resolves with what went wrong when all lanes have come to their end. */
  async ended(): Promise<readonly unknown[]> {
    await Promise.all(this.#lanes.values());
    return this.#failures;
  }
}
