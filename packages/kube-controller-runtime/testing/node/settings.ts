import { addresses, CLUSTER_DOMAIN, NODE_NAME } from "./addresses.ts";
import type { KeyPair } from "./credentials.ts";

/** The pause image, which the node imports itself. */
export const PAUSE_IMAGE = "kube-node.local/pause:1";
export const CONTAINERD_SOCKET = "/run/containerd/containerd.sock";

/** Paths that the settings refer to. */
export interface SettingsPlaces {
  readonly ca: string;
  readonly kubelet: KeyPair;
  readonly networkPlugins: string;
  readonly networkConfig: string;
  /** A folder for each registry with a mirror. */
  readonly registries: string;
  /** An empty file: pods only use the cluster's DNS. */
  readonly resolvConf: string;
  readonly proxyKubeconfig: string;
  readonly adminKubeconfig: string;
}

export function containerdConfig({ networkPlugins, networkConfig, registries }: SettingsPlaces): string {
  return `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "${CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  # The machine may lack CAP_SYS_RESOURCE, as containers and small virtual machines do.
  restrict_oom_score_adj = true
  disable_apparmor = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "${networkPlugins}"
  conf_dir = "${networkConfig}"
[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "${registries}"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = false
`;
}

/** One bridge for all pods, without masquerading: pods can't send anything out of the machine. */
export const networkConfig = {
  cniVersion: "0.4.0",
  name: "pods",
  plugins: [
    {
      type: "bridge",
      bridge: "pods",
      isGateway: true,
      ipMasq: false,
      hairpinMode: true,
      ipam: {
        type: "host-local",
        ranges: [[{ subnet: addresses.pods }]],
        routes: [{ dst: "0.0.0.0/0" }],
      },
    },
  ],
};

export function kubeletConfig({ ca, kubelet, resolvConf }: SettingsPlaces): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: ca } },
    authorization: { mode: "Webhook" },
    tlsCertFile: kubelet.cert,
    tlsPrivateKeyFile: kubelet.key,
    containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
    clusterDNS: [addresses.node],
    clusterDomain: CLUSTER_DOMAIN,
    resolvConf,
    // Supports machines without systemd, with cgroup v1, or without permission to change limits.
    cgroupDriver: "cgroupfs",
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    failCgroupV1: false,
    localStorageCapacityIsolation: false,
    featureGates: { KubeletInUserNamespace: true },
    makeIPTablesUtilChains: false,
    failSwapOn: false,
    // A full disk of a developer must not evict pods.
    evictionHard: { "nodefs.available": "0%", "imagefs.available": "0%", "memory.available": "100Mi" },
    imageGCHighThresholdPercent: 100,
  };
}

export function proxyConfig({ proxyKubeconfig }: SettingsPlaces): object {
  return {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    clientConnection: { kubeconfig: proxyKubeconfig },
    mode: "nftables",
    clusterCIDR: addresses.pods,
    hostnameOverride: NODE_NAME,
    // Limits of the whole machine, which the node must not change.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
  };
}

export function dnsConfig({ adminKubeconfig }: SettingsPlaces): string {
  return `.:53 {
  bind ${addresses.node}
  errors
  kubernetes ${CLUSTER_DOMAIN} in-addr.arpa {
    kubeconfig ${adminKubeconfig}
    ttl 5
  }
}
`;
}
