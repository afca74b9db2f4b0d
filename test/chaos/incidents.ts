import type { Injection } from "../../lab/coderd/faults.ts";
import type { ProxyFault } from "../support/fault-proxy.ts";
import type { Wish } from "./fleet.ts";

/** Which of the operator's processes something happens to, by what it is when it happens. */
export type Role = "leader" | "standby";

/** Whatever happens to the fleet and to all that it stands on: faults, and what users do meanwhile. */
export type Incident =
  | {
      readonly what: "apiServerRestart";
      readonly signal: "SIGTERM" | "SIGKILL";
      readonly forMs: number;
    }
  | { readonly what: "etcdPause"; readonly forMs: number }
  /** Between the operator and the API server; a fault that is over at once breaks all connections. */
  | { readonly what: "network"; readonly fault: ProxyFault | undefined; readonly forMs: number }
  | {
      readonly what: "coderd";
      readonly name: string;
      readonly injection: Injection;
      readonly forMs: number;
    }
  | { readonly what: "postgresRestart"; readonly forMs: number }
  | { readonly what: "operatorEnd"; readonly role: Role; readonly signal: "SIGKILL" | "SIGTERM" }
  | { readonly what: "operatorPause"; readonly role: Role; readonly forMs: number }
  /** The wall clock of one process is set; its monotonic clock goes on. */
  | { readonly what: "clockStep"; readonly role: Role; readonly step: "ahead" | "back" }
  | { readonly what: "secretDeletion"; readonly owner: string; readonly secret: string }
  | { readonly what: "change"; readonly of: string; readonly wish: Wish }
  | { readonly what: "recreation"; readonly wish: Wish };

/** How long it goes on, as planned. */
export function durationOf(incident: Incident): number {
  return "forMs" in incident ? incident.forMs : 0;
}

/** Incidents of one lane happen one after the other, in the order of the schedule, however long each takes. */
export function laneOf(incident: Incident): string {
  switch (incident.what) {
    case "apiServerRestart":
    case "etcdPause":
      return "cluster";
    case "network":
      return "network";
    case "postgresRestart":
      return "postgres";
    case "coderd":
      return `coderd of ${incident.name}`;
    case "operatorEnd":
    case "operatorPause":
    case "clockStep":
      return "operator";
    case "secretDeletion":
      return incident.owner;
    case "change":
    case "recreation":
      return incident.wish.name;
  }
}

/** One line for people. */
export function describe(incident: Incident): string {
  switch (incident.what) {
    case "apiServerRestart":
      return `API server: ${incident.signal}, away for ${seconds(incident.forMs)}`;
    case "etcdPause":
      return `etcd: stopped for ${seconds(incident.forMs)}`;
    case "network":
      return `network: ${describeNetwork(incident.fault, incident.forMs)}`;
    case "coderd":
      return `coderd of ${incident.name}: ${describeInjection(incident.injection)} for ${seconds(incident.forMs)}`;
    case "postgresRestart":
      return `Postgres: away for ${seconds(incident.forMs)}`;
    case "operatorEnd":
      return `operator: ${incident.signal} for the ${incident.role}`;
    case "operatorPause":
      return `operator: the ${incident.role} is stopped for ${seconds(incident.forMs)}`;
    case "clockStep":
      return `operator: the clock of the ${incident.role} is set an hour ${incident.step}`;
    case "secretDeletion":
      return `user: deletes Secret ${incident.secret}`;
    case "change":
      return `user: changes ${incident.of} of ${incident.wish.name}`;
    case "recreation":
      return `user: deletes ${incident.wish.name} and creates it again`;
  }
}

function describeNetwork(fault: ProxyFault | undefined, forMs: number): string {
  if (!fault) return "all connections break";
  const status = fault.do === "answer" ? ` ${fault.status}` : "";
  return `${fault.do}${status} for ${seconds(forMs)}`;
}

function describeInjection({ fault, on, afterEffect }: Injection): string {
  const details = Object.entries(fault)
    .filter(([name]) => name !== "kind" && name !== "body")
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  const where = on === undefined ? "" : ` on ${on}`;
  return [fault.kind, ...details].join(" ") + where + (afterEffect ? ", after the effect," : "");
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
