import type { Tags } from "../../src/coder/provisioning.ts";

/** A workspace with what decides when coderd starts or stops it by itself. Times are in milliseconds. */
export interface SimulatedWorkspace {
  readonly name: string;
  readonly organization: string;
  readonly tags: Tags;
  /** What its last build did. */
  readonly transition: "start" | "stop";
  readonly nextStartAt?: number;
  readonly deadline?: number;
}
