/**
 * A cluster with one real node on this machine, for tests that need a kubelet: containers, probes, rollouts,
 * crashes. Requires Linux and root.
 */
export { addresses, CLUSTER_DOMAIN } from "./addresses.ts";
export { hasNodeBinaries, type NodeBinaries, nodeBinaries } from "./binaries.ts";
export { leftovers } from "./leftovers.ts";
export { LocalNode, type NodeOptions, runningNode, startNode, stopNode } from "./node.ts";
export { obstacle } from "./prerequisites.ts";
