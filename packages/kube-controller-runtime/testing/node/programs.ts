import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KubeBinaries } from "../kube/pins.ts";
import { API_PORT, addresses, NODE_NAME } from "./addresses.ts";
import type { NodeBinaries } from "./binaries.ts";
import type { Credentials } from "./credentials.ts";
import { networkPluginFolder } from "./prerequisites.ts";
import {
  containerdConfig,
  dnsConfig,
  kubeletConfig,
  networkConfig,
  proxyConfig,
  type SettingsPlaces,
} from "./settings.ts";

/** The folder of containerd's registry mirrors. */
export const REGISTRIES = "registries";
const ETCD_URL = "http://127.0.0.1:2379";

/** The inputs for the commands of the node's programs. */
export interface Ingredients {
  readonly dir: string;
  readonly binaries: KubeBinaries & NodeBinaries;
  readonly credentials: Credentials;
  /** Additional flags of the API server. */
  readonly apiServerFlags: readonly string[];
}

/** The command of every program of the node; also writes configuration files. */
export function commandsOf(ingredients: Ingredients) {
  const files = writeSettings(ingredients);
  const { dir, binaries, credentials } = ingredients;
  const { identities } = credentials;
  return {
    etcd: [
      binaries.etcd,
      `--data-dir=${join(dir, "etcd")}`,
      `--listen-client-urls=${ETCD_URL}`,
      `--advertise-client-urls=${ETCD_URL}`,
      "--unsafe-no-fsync",
      "--log-level=warn",
    ],
    "kube-apiserver": [binaries["kube-apiserver"], ...apiServerFlags(ingredients)],
    "kube-controller-manager": [
      binaries["kube-controller-manager"],
      `--kubeconfig=${identities["controller-manager"].kubeconfig}`,
      "--use-service-account-credentials",
      `--service-account-private-key-file=${credentials.serviceAccountKey}`,
      `--root-ca-file=${credentials.ca}`,
      "--leader-elect=false",
    ],
    "kube-scheduler": [
      binaries["kube-scheduler"],
      `--kubeconfig=${identities.scheduler.kubeconfig}`,
      "--leader-elect=false",
    ],
    containerd: ["containerd", `--config=${files.containerd}`],
    kubelet: [
      binaries.kubelet,
      `--config=${files.kubelet}`,
      `--kubeconfig=${identities.kubelet.kubeconfig}`,
      `--hostname-override=${NODE_NAME}`,
      `--node-ip=${addresses.node}`,
    ],
    "kube-proxy": [binaries["kube-proxy"], `--config=${files.proxy}`],
    dns: [binaries.dns, `-conf=${files.dns}`],
  } satisfies Record<string, readonly string[]>;
}

function apiServerFlags({ credentials, apiServerFlags: further }: Ingredients): string[] {
  const { ca, serving, kubeletClient, serviceAccountKey, tokens } = credentials;
  return [
    `--etcd-servers=${ETCD_URL}`,
    `--advertise-address=${addresses.node}`,
    `--secure-port=${API_PORT}`,
    `--tls-cert-file=${serving.cert}`,
    `--tls-private-key-file=${serving.key}`,
    `--token-auth-file=${tokens}`,
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${serviceAccountKey}`,
    `--service-account-signing-key-file=${serviceAccountKey}`,
    `--service-cluster-ip-range=${addresses.services}`,
    "--kubelet-preferred-address-types=InternalIP",
    `--kubelet-certificate-authority=${ca}`,
    `--kubelet-client-certificate=${kubeletClient.cert}`,
    `--kubelet-client-key=${kubeletClient.key}`,
    ...further,
  ];
}

function writeSettings({ dir, credentials }: Ingredients) {
  const settings = join(dir, "settings");
  const network = join(settings, "network");
  mkdirSync(network, { recursive: true });
  const registries = join(dir, REGISTRIES);
  mkdirSync(registries);
  const write = (name: string, content: string | object) => {
    const file = join(settings, name);
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content, undefined, 2));
    return file;
  };
  const places: SettingsPlaces = {
    ca: credentials.ca,
    kubelet: credentials.kubelet,
    networkPlugins: networkPluginFolder(),
    networkConfig: network,
    registries,
    resolvConf: write("resolv.conf", ""),
    proxyKubeconfig: credentials.identities.proxy.kubeconfig,
    adminKubeconfig: credentials.identities.admin.kubeconfig,
  };
  write("network/pods.conflist", networkConfig);
  return {
    containerd: write("containerd.toml", containerdConfig(places)),
    kubelet: write("kubelet.yaml", kubeletConfig(places)),
    proxy: write("proxy.yaml", proxyConfig(places)),
    dns: write("Corefile", dnsConfig(places)),
  };
}
