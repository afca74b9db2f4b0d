/** So many control planes and as many provisioners, before coderds that take so long to answer. */
export interface FleetShape {
  readonly size: number;
  readonly latencyMs: number;
}
