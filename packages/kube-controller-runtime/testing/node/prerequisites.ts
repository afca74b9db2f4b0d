import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Host programs that the node needs, by Debian package. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  containerd: ["containerd", "ctr"],
  runc: ["runc"],
  nftables: ["nft"],
  conntrack: ["conntrack"],
  iproute2: ["ip"],
  mount: ["mount"],
  "util-linux": ["unshare", "nsenter"],
  tar: ["tar"],
};

const NETWORK_PLUGINS = ["bridge", "host-local", "loopback"];
const NETWORK_PLUGIN_FOLDERS = ["/usr/lib/cni", "/opt/cni/bin"];

/** Required for Services between pods on one bridge. */
export const BRIDGE_FILTER = "/proc/sys/net/bridge/bridge-nf-call-iptables";

/** The machine, as the check sees it. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly uid: number | undefined;
  /** The folders to search for programs. */
  readonly path: readonly string[];
  readonly exists: (file: string) => boolean;
  /** Runs a program; returns why it failed, or undefined. */
  readonly failure: (command: readonly string[]) => string | undefined;
}

/** This machine. Also searches the administrator's folders, which the user's PATH may lack. */
function thisMachine(): Machine {
  return {
    platform: process.platform,
    uid: process.getuid?.(),
    path: [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"].filter(Boolean),
    exists: existsSync,
    failure: ([program = "", ...args]) => {
      const { status, stderr, error } = spawnSync(program, args, { encoding: "utf8" });
      return status === 0 ? undefined : (error?.message ?? stderr.trim());
    },
  };
}

/**
 * Creates the namespaces of a node and uses nftables in them; containers often do not allow this, even to
 * root.
 */
const TRIAL = ["unshare", "--mount", "--net", "--pid", "--fork", "nft", "list", "tables"];

/** Why a node can't run here and how to fix it, in one sentence; undefined if it can. */
export function obstacle(machine: Machine = thisMachine()): string | undefined {
  if (machine.platform !== "linux")
    return `A node needs Linux, and this is ${machine.platform}: use a cluster of kind or k3s, and set KUBECONFIG.`;
  if (machine.uid !== 0)
    return "A node needs root, because it creates namespaces and runs containers: start it as root.";
  const missing = missingPackages(machine);
  if (missing.length > 0)
    return `A node needs packages that are not installed: run \`apt-get install --no-install-recommends ${missing.join(" ")}\`.`;
  if (!machine.exists(BRIDGE_FILTER))
    return "A node needs the kernel module br_netfilter, which is not loaded: run `modprobe br_netfilter`.";
  const failure = machine.failure(TRIAL);
  return (
    failure &&
    `A node needs namespaces of its own with nftables, which this machine refuses (${failure}): use a virtual machine, or a privileged container.`
  );
}

/** The folder of the network plugins; throws if no folder contains all of them. */
export function networkPluginFolder({ exists }: Pick<Machine, "exists"> = thisMachine()): string {
  const found = NETWORK_PLUGIN_FOLDERS.find((dir) =>
    NETWORK_PLUGINS.every((name) => exists(join(dir, name))),
  );
  if (found === undefined)
    throw new Error(`the network plugins are not in ${NETWORK_PLUGIN_FOLDERS.join(" or ")}`);
  return found;
}

function missingPackages(machine: Machine): string[] {
  const has = (program: string) => machine.path.some((dir) => machine.exists(join(dir, program)));
  const lacking = Object.entries(PACKAGES).filter(([, programs]) => !programs.every(has));
  const plugins = NETWORK_PLUGIN_FOLDERS.some((dir) =>
    NETWORK_PLUGINS.every((name) => machine.exists(join(dir, name))),
  );
  return [...lacking.map(([name]) => name), ...(plugins ? [] : ["containernetworking-plugins"])];
}
