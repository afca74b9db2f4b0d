import { Dice } from "kube-controller-runtime/testing";
import { drawFault } from "./draw-fault.ts";
import { drawRecreation, drawWish } from "./draw-wish.ts";
import { type Fleet, initialFleet, secretOf, workloadsOf } from "./fleet.ts";
import { durationOf, type Incident, laneOf } from "./incidents.ts";

export interface ScheduleOptions {
  readonly seed: number;
  readonly durationMs: number;
  /** Number of control planes; see `initialFleet`. */
  readonly objects: number;
  /** Leaves out what takes longer than half a minute to heal, such as connections that fall silent. */
  readonly quickToHeal?: boolean;
}

interface Planned {
  readonly atMs: number;
  readonly incident: Incident;
}

/** Everything that a campaign does, decided before it begins. */
export interface Schedule {
  readonly before: Fleet;
  readonly planned: readonly Planned[];
  /** What users want in the end. */
  readonly after: Fleet;
}

const WEIGHTS: Readonly<Record<Incident["what"], number>> = {
  change: 24,
  coderd: 26,
  secretDeletion: 12,
  network: 10,
  operatorEnd: 8,
  recreation: 7,
  clockStep: 4,
  operatorPause: 3,
  postgresRestart: 3,
  etcdPause: 3,
  apiServerRestart: 3,
};
const GAP_MS = { from: 300, to: 3_500 };
/** How often another incident is drawn when one does not fit. */
const DRAWS = 20;

/** Draws a schedule. The same options give the same schedule: nothing depends on time or on what happens. */
export function drawSchedule(options: ScheduleOptions): Schedule {
  const dice = new Dice(options.seed);
  const before = initialFleet(options.objects);
  const after = new Map(before);
  const busyUntil = new Map<string, number>();
  const planned: Planned[] = [];
  const end = options.durationMs;
  for (let at = gap(dice); at < end; at += gap(dice)) {
    const fits = (incident: Incident) =>
      (busyUntil.get(laneOf(incident)) ?? 0) <= at &&
      at + durationOf(incident) <= end &&
      !(options.quickToHeal && isSlowToHeal(incident));
    const incident = drawFitting(dice, after, fits);
    if (!incident) continue;
    busyUntil.set(laneOf(incident), at + durationOf(incident));
    if ("wish" in incident) after.set(incident.wish.name, incident.wish);
    planned.push({ atMs: at, incident });
  }
  return { before, planned, after };
}

function gap(dice: Dice): number {
  return dice.whole(GAP_MS.from, GAP_MS.to);
}

function drawFitting(dice: Dice, fleet: Fleet, fits: (incident: Incident) => boolean): Incident | undefined {
  for (let draw = 0; draw < DRAWS; draw++) {
    const incident = drawIncident(dice, fleet);
    if (fits(incident)) return incident;
  }
  return undefined;
}

function drawIncident(dice: Dice, fleet: Fleet): Incident {
  const what = dice.weighted(WEIGHTS);
  switch (what) {
    case "change":
      return { what, ...drawWish(dice, fleet) };
    case "recreation":
      return { what, wish: drawRecreation(dice, fleet) };
    case "secretDeletion": {
      const owner = dice.pick(workloadsOf(fleet));
      return { what, owner: owner.name, secret: secretOf(owner) };
    }
    default:
      return drawFault(what, dice, fleet);
  }
}

function isSlowToHeal(incident: Incident): boolean {
  switch (incident.what) {
    case "network":
      return incident.fault?.do === "stall" || incident.fault?.do === "drip";
    case "coderd":
      return ["rateLimited", "stall"].includes(incident.injection.fault.kind);
    case "operatorPause":
      return true;
    default:
      return false;
  }
}
