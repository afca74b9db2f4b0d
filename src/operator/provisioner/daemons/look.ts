import type { DaemonQuestion, DaemonSight } from "../../daemons/observer.ts";
import type { Memory } from "../memory.ts";
import type { Environment } from "../observe.ts";
import type { ProvisionerSession } from "../steps/access.ts";

export const SOON_MS = 2_000;
const SLOWEST_MS = 60_000;

/** How often coderd is asked while daemons are missing: what lasts is looked at ever less often. */
export function paceOf({ awaited }: Pick<Memory, "awaited">, now: number): number {
  const lastsMs = now - (awaited?.since ?? now);
  return Math.min(Math.max(lastsMs / 10, SOON_MS), SLOWEST_MS);
}

/** The daemons of an organization, from an answer that all pools with the same credentials share. */
export function observeDaemons(
  {
    controlPlane,
    client,
    token,
    organizationId,
  }: ProvisionerSession & Pick<DaemonQuestion, "organizationId">,
  { ports }: Pick<Environment, "ports">,
  maxAgeMs: number,
): Promise<DaemonSight> {
  return ports.daemons.observe({ client, url: controlPlane.url, token, organizationId, maxAgeMs });
}
