/** The number of control planes, and of provisioners, and the latency of their coderds. */
export interface FleetShape {
  readonly size: number;
  readonly latencyMs: number;
}
