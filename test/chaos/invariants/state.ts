import { everythingConverged } from "./converged.ts";
import type { Evidence, Invariant } from "./evidence.ts";
import { oneGroupEach, oneKeyEach, oneProxyEach, oneTokenEach } from "./one-each.ts";
import { noOrphansAtCoderd, noOrphansInCluster } from "./orphans.ts";

/** The invariants of the world a while after the end of all faults. */
const STATE_INVARIANTS: Readonly<Record<string, Invariant>> = {
  "everything converged": everythingConverged,
  "one key per provisioner": oneKeyEach,
  "one token per control plane": oneTokenEach,
  "one record per proxy": oneProxyEach,
  "one entity per group": oneGroupEach,
  "no orphan at coderd": noOrphansAtCoderd,
  "no orphan in the cluster": noOrphansInCluster,
};

/** Every way in which the world is not as it must be, each with the invariant that it breaks. */
export function brokenInvariants(evidence: Evidence): string[] {
  return Object.entries(STATE_INVARIANTS).flatMap(([name, invariant]) =>
    invariant(evidence).map((violation) => `${name}: ${violation}`),
  );
}
