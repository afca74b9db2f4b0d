import type { Client, Clock } from "kube-controller-runtime";
import type { Deadline } from "kube-controller-runtime/testing";
import type { Address } from "../../../lab/coderd/coderds.ts";
import type { CoderdDeployment, DeploymentOptions } from "../../../lab/coderd/deployment.ts";
import type { OperatorEnvironment } from "../../../lab/operator.ts";
import type { Route } from "../../../src/coder/http/route.ts";

/**
 * What a stage stands in. Two worlds offer it: the real one, with an API server, sockets and real time that can be
 * made to jump, and one in memory, where time passes only during a wait.
 */
export interface World extends AsyncDisposable {
  /** Whether time passes by itself, even without a wait. */
  readonly timeIsReal: boolean;
  /** The time by which operators wait and judge. */
  readonly clock: JumpingClock;
  /** A person who may do everything. */
  readonly person: Client;
  readonly coderds: WorldCoderds;
  createNamespace(prefix: string): Promise<string>;
  /** The environment of a newly started operator. */
  operatorEnvironment(): Promise<OperatorEnvironment>;
  /** Repeats the assertion until it holds; fails with its last words when it does not hold in time. */
  eventually<T>(assertion: () => T | Promise<T>, deadline: Deadline): Promise<T>;
  /** Plays the Deployment's controller: reports all replicas of its current spec ready. */
  markDeploymentReady(namespace: string, name: string): Promise<void>;
}

interface JumpingClock extends Clock {
  /** Moves ahead by `ms` at once. */
  jump(ms: number): void;
}

/** Simulated coderds, and the way to them. */
export interface WorldCoderds {
  readonly route: Route;
  add(options?: DeploymentOptions, address?: Address): CoderdDeployment;
}
