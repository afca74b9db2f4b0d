import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Programs of the machine that the node runs, by the Debian package that has them. */
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

/** By which pods on one bridge reach Services. */
export const BRIDGE_FILTER = "/proc/sys/net/bridge/bridge-nf-call-iptables";

/** What the check looks at. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly uid: number | undefined;
  /** The folders that programs are looked for in. */
  readonly path: readonly string[];
  readonly exists: (file: string) => boolean;
  /** Runs a program to its end; returns why it failed, or nothing. */
  readonly failure: (command: readonly string[]) => string | undefined;
}

/** This machine. Programs of the administrator are found where the user's PATH lacks their folder. */
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

/** Creates the namespaces of a node for a moment and uses nftables there; containers, even as root, often must not. */
const TRIAL = ["unshare", "--mount", "--net", "--pid", "--fork", "nft", "list", "tables"];

/** Why a node cannot run here and what to do about it, in one sentence; nothing when it can. */
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

/** Where the network plugins are; fails when no folder has all of them. */
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
