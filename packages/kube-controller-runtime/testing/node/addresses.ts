const MAX_NODES = 8;

/** The number of the node, if several run on this machine; KUBE_NODE, by default 0. */
const index = Number(process.env.KUBE_NODE || "0");
if (!Number.isInteger(index) || index < 0 || index >= MAX_NODES)
  throw new Error(`KUBE_NODE is ${process.env.KUBE_NODE}, but must be a number from 0 to ${MAX_NODES - 1}`);

/** The name of the node's state folder and of the host's end of its link. */
export const NODE_ID = index === 0 ? "kube-node" : `kube-node-${index}`;

/**
 * Addresses of the node from 198.18.0.0/15, which is reserved for tests and so does not conflict with the
 * machine's networks.
 */
export const addresses = {
  /** The range of all nodes. */
  all: "198.18.0.0/15",
  /** The host's end of the link to the node. */
  machine: `198.18.${index}.1`,
  /** The node's end: the API server, the kubelet and DNS listen there. */
  node: `198.18.${index}.2`,
  linkPrefix: 30,
  pods: `198.18.${16 * (index + 1)}.0/20`,
  services: `198.19.${16 * index}.0/20`,
  /** The address of the Service `kubernetes`, the first of the range. */
  apiService: `198.19.${16 * index}.1`,
} as const;

export const API_PORT = 6443;
/** The name of the only node. */
export const NODE_NAME = "node";
/** The DNS domain of Services. */
export const CLUSTER_DOMAIN = "cluster.local";
