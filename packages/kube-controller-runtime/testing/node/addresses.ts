const MAX_NODES = 8;

/** Which of the nodes that this machine may run at the same time is meant: KUBE_NODE, 0 when absent. */
const index = Number(process.env.KUBE_NODE || "0");
if (!Number.isInteger(index) || index < 0 || index >= MAX_NODES)
  throw new Error(`KUBE_NODE is ${process.env.KUBE_NODE}, and nodes have numbers from 0 to ${MAX_NODES - 1}`);

/** Of the node's state folder and the machine's end of its link. */
export const NODE_ID = index === 0 ? "kube-node" : `kube-node-${index}`;

/**
 * Addresses of the node, all from 198.18.0.0/15, which is reserved for tests: no network that this machine may be part
 * of has them.
 */
export const addresses = {
  /** Everything that any node has. */
  all: "198.18.0.0/15",
  /** The machine's end of the link to the node. */
  machine: `198.18.${index}.1`,
  /** The node's end: the API server and the kubelet listen there, and DNS. */
  node: `198.18.${index}.2`,
  linkPrefix: 30,
  pods: `198.18.${16 * (index + 1)}.0/20`,
  services: `198.19.${16 * index}.0/20`,
  /** Of the Service `kubernetes`, the first of the range. */
  apiService: `198.19.${16 * index}.1`,
} as const;

export const API_PORT = 6443;
/** The name of the only node. */
export const NODE_NAME = "node";
/** In which names of Services are. */
export const CLUSTER_DOMAIN = "cluster.local";
