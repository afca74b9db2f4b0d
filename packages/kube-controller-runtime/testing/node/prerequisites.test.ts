import { describe, expect, test } from "vitest";
import { type Machine, obstacle } from "./prerequisites.ts";

const complete: Machine = {
  platform: "linux",
  uid: 0,
  path: ["/usr/bin"],
  exists: () => true,
  failure: () => undefined,
};

/** A machine without these files. */
function without(...files: string[]): Machine {
  return { ...complete, exists: (file) => !files.some((missing) => file.endsWith(missing)) };
}

describe("what keeps a machine from running a node", () => {
  test("is nothing where everything is installed", () => {
    expect(obstacle(complete)).toBeUndefined();
  });

  test("is its system or its user, regardless of the installed programs", () => {
    expect(obstacle({ ...complete, platform: "darwin" })).toContain("needs Linux, and this is darwin");
    expect(obstacle({ ...complete, uid: 1000 })).toContain("needs root");
  });

  test("are packages, by the names that apt-get takes", () => {
    const command = "apt-get install --no-install-recommends containerd nftables containernetworking-plugins";
    expect(obstacle(without("/ctr", "/nft", "/host-local"))).toContain(`\`${command}\``);
  });

  test("is a kernel module, by the command that loads it", () => {
    expect(obstacle(without("/bridge-nf-call-iptables"))).toContain("`modprobe br_netfilter`");
  });

  test("are namespaces that it refuses, as an unprivileged container does, in the words of the program", () => {
    const said = "unshare: unshare failed: Operation not permitted";
    expect(obstacle({ ...complete, failure: () => said })).toContain(`(${said})`);
  });

  test("the folders contain no network plugins", () => {
    expect(obstacle(without("/usr/lib/cni/bridge"))).toBeUndefined();
  });
});
