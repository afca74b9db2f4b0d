/**
 * A cluster of one real node on this machine, for what only a kubelet can show: containers, probes, rollouts, crashes.
 * Linux and root only.
 */
export { addresses, CLUSTER_DOMAIN } from "./addresses.ts";
export { hasNodeBinaries, type NodeBinaries, nodeBinaries } from "./binaries.ts";
export { leftovers } from "./leftovers.ts";
export { LocalNode, type NodeOptions, runningNode, startNode, stopNode } from "./node.ts";
export { obstacle } from "./prerequisites.ts";
