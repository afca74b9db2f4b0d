import type { Tags } from "../../src/coder/provisioning.ts";

/**
 * A workspace with the fields that determine when coderd starts or stops it by itself. Times are in
 * milliseconds.
 */
export interface SimulatedWorkspace {
  readonly name: string;
  readonly organization: string;
  readonly tags: Tags;
  /** The transition of its last build. */
  readonly transition: "start" | "stop";
  readonly nextStartAt?: number;
  readonly deadline?: number;
}
