import type { ConditionState } from "kube-controller-runtime";
import type { CoderFailure } from "../../../coder/failure.ts";
import { minorOf } from "../../../coder/version.ts";
import { reasonOf } from "../../coderd/reasons.ts";
import type { Rollout } from "../../pods/rollout.ts";
import type { Provisioner } from "../spec.ts";
import { type Connections, JOINS_WITHIN_MS } from "./connections.ts";

/** All that the condition of the daemons depends on. */
export interface DaemonFacts {
  readonly provisioner: Provisioner;
  readonly connections: Connections;
  readonly rollout: Rollout | undefined;
  /** Whether all were connected before, so that only their number can have changed. */
  readonly wasReady: boolean;
  /** The version of coderd, if it is known. */
  readonly coderdVersion: string | undefined;
  /** What may keep a daemon from coderd, as a sentence. */
  readonly hint: string;
}

export const CONNECTING = "Connecting";

/** The pods alone count. */
export const NOT_PERMITTED = "NotPermitted";

/** Whether as many daemons are connected as there should be. */
export function daemonsConnected(facts: DaemonFacts): ConditionState {
  const { provisioner, connections, rollout, wasReady } = facts;
  const wanted = provisioner.replicas;
  if (wanted === 0) return { status: "True", reason: "ScaledToZero", message: "No daemon is wanted now." };
  const connected = Math.min(connections.connected, wanted);
  const numbers = `${connected} of ${wanted} daemons are connected to coderd`;
  if (connected === wanted)
    return skew(facts) ?? { status: "True", reason: "Connected", message: `${numbers}.` };
  const [late] = connections.late;
  if (late) {
    const { name, namespace } = late.metadata;
    const story = `Pod "${name}" has run for more than ${JOINS_WITHIN_MS / 1_000} s or was restarted, and coderd does not list its daemon with the key in use.`;
    const logs = `See: kubectl -n ${namespace} logs ${name}`;
    return { status: "False", reason: "Stalled", message: `${numbers}. ${story} ${facts.hint} ${logs}` };
  }
  const isOnlyNumber = wasReady && (rollout?.state === "complete" || rollout?.state === "scaling");
  return isOnlyNumber
    ? { status: "True", reason: "Scaling", message: `${numbers}; the others are starting.` }
    : { status: "False", reason: CONNECTING, message: `${numbers}; the others are starting.` };
}

/** coderd calls versions matching when major and minor agree. */
function skew({ connections, coderdVersion }: DaemonFacts): ConditionState | undefined {
  const ours = minorOf(coderdVersion);
  const others = connections.versions.filter((version) => minorOf(version) !== ours);
  if (ours === undefined || others.length === 0) return undefined;
  const versions = [...new Set(others)].sort().slice(0, 3).join(", ");
  const daemons = others.length === 1 ? "1 daemon runs" : `${others.length} daemons run`;
  const message = `All daemons are connected, but ${daemons} version ${versions} while coderd runs ${coderdVersion}; give them an image of the same version.`;
  return { status: "True", reason: "VersionSkew", message };
}

/** Whether coderd refuses to say, and will go on to: it has no such route, or the token's user no such right. */
export function mayNotAsk(failure: CoderFailure): boolean {
  if (failure.kind === "forbidden") return failure.why === "notPermitted";
  return failure.kind === "notFound" || failure.kind === "unsupported" || failure.kind === "notEntitled";
}

/** Nobody knows which daemons are connected. */
export function daemonsUnknown(failure: CoderFailure): ConditionState {
  if (mayNotAsk(failure)) {
    const message = `The operator may not list the daemons of the organization, so pods that are ready count as connected; use the token of an owner. ${failure.message}`;
    return { status: "Unknown", reason: NOT_PERMITTED, message };
  }
  const message = `coderd can't be asked which daemons are connected; no key is deleted meanwhile. ${failure.message}`;
  return { status: "Unknown", reason: reasonOf(failure), message };
}
