import type { Dice } from "kube-controller-runtime/testing";
import type { Fault, Injection } from "../../lab/coderd/faults.ts";
import { notFound } from "../../lab/coderd/reply.ts";
import type { ProxyFault } from "../support/fault-proxy.ts";
import { type Fleet, wishesOf } from "./fleet.ts";
import type { Incident, Role } from "./incidents.ts";

type FaultName = Exclude<Incident["what"], "change" | "recreation" | "secretDeletion">;

/** Draws the particulars of a fault. */
export function drawFault(what: FaultName, dice: Dice, fleet: Fleet): Incident {
  const role: Role = dice.next() < 0.7 ? "leader" : "standby";
  switch (what) {
    case "apiServerRestart":
      return { what, signal: dice.pick(["SIGTERM", "SIGKILL"]), forMs: dice.whole(200, 4_000) };
    case "etcdPause":
      return { what, forMs: dice.whole(500, 6_000) };
    case "postgresRestart":
      return { what, forMs: dice.whole(200, 6_000) };
    case "operatorEnd":
      return { what, role, signal: dice.next() < 0.65 ? "SIGKILL" : "SIGTERM" };
    case "operatorPause":
      // Now and then past the end of its lease.
      return { what, role, forMs: dice.pick([dice.whole(500, 8_000), dice.whole(16_000, 20_000)]) };
    case "clockStep":
      return { what, role, step: dice.pick(["ahead", "back"]) };
    case "network":
      return { what, ...drawNetworkFault(dice) };
    case "coderd": {
      const { name } = dice.pick(wishesOf(fleet, "CoderControlPlane"));
      return { what, name, injection: drawInjection(dice), forMs: dice.whole(1_000, 12_000) };
    }
  }
}

function drawNetworkFault(dice: Dice): { fault: ProxyFault | undefined; forMs: number } {
  const forMs = dice.whole(300, 5_000);
  const name = dice.weighted({ disconnect: 4, stall: 2, cut: 2, drip: 1, answer: 2, refuse: 2 });
  switch (name) {
    case "disconnect":
      return { fault: undefined, forMs: 0 };
    case "drip":
      return { fault: { do: name, everyMs: dice.whole(1, 5) }, forMs };
    case "answer":
      return { fault: { do: name, status: dice.pick([429, 500, 503, 504]) }, forMs };
    default:
      return { fault: { do: name }, forMs };
  }
}

/** The effects of a request whose response is lost. */
const LOSES_ANSWERS: readonly Fault["kind"][] = ["stall", "cut", "html", "truncatedJson", "wrongShape"];

/**
 * Where "not found" may be a lie. A coderd that says so of a list of keys, or of what is to be deleted, is
 * believed: then nothing is there to remove. So it says it elsewhere only.
 */
const HARMLESS_NOT_FOUND = /^(POST .*|GET .*\/(entitlements|licenses|users\/me|buildinfo))$/;

function drawInjection(dice: Dice): Injection {
  const fault = drawCoderdFault(dice);
  const on = placeOf(fault, dice);
  const afterEffect = LOSES_ANSWERS.includes(fault.kind) && dice.next() < 0.5;
  return { fault, ...(on ? { on } : {}), ...(afterEffect ? { afterEffect } : {}) };
}

/** Half of the faults hit every request; the others what changes something, or one kind of thing. */
const PLACES = [/^(POST|PATCH|DELETE) /, /provisionerkeys/, /workspaceproxies/];

function placeOf(fault: Fault, dice: Dice): RegExp | undefined {
  if (fault.kind === "answer" && fault.status === 404) return HARMLESS_NOT_FOUND;
  return dice.next() < 0.5 ? undefined : dice.pick(PLACES);
}

function drawCoderdFault(dice: Dice): Fault {
  const kind = dice.weighted({
    latency: 3,
    answer: 6,
    rateLimited: 2,
    html: 1,
    truncatedJson: 1,
    wrongShape: 1,
    redirectLoop: 1,
    stall: 2,
    cut: 3,
  });
  switch (kind) {
    case "latency":
      return { kind, ms: dice.whole(50, 3_000) };
    case "answer": {
      const status = dice.pick([401, 403, 404, 409, 500, 502, 503]);
      return { kind, status, ...(status === 404 ? { body: notFound.body } : {}) };
    }
    case "rateLimited":
      return { kind, ...(dice.next() < 0.5 ? { retryAfter: String(dice.whole(1, 5)) } : {}) };
    case "stall":
    case "cut":
      return { kind, midBody: dice.next() < 0.5 };
    default:
      return { kind };
  }
}
