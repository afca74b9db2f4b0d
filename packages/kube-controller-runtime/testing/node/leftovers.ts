import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { promisify } from "node:util";
import { NODE_ID } from "./addresses.ts";
import { deserted } from "./cgroups.ts";
import { STATE_FOLDER } from "./sandbox.ts";

/** Everything of a node that exists on this machine; empty after it was stopped. */
export async function leftovers(): Promise<string[]> {
  return [
    ...processes().map((each) => `process ${each}`),
    ...mounts().map((each) => `mount ${each}`),
    ...(await links()).map((each) => `link ${each}`),
    ...(await nftTables()).map((each) => `nft ${each}`),
    ...(await namespaces()).map((each) => `network namespace ${each}`),
    ...deserted().map((each) => `cgroup ${each}`),
    ...(existsSync(STATE_FOLDER) ? [`folder ${STATE_FOLDER}`] : []),
  ];
}

/** By command lines and mounts, because containers do not refer to the node's folder. */
function processes(): string[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((pid) => {
      const command = read(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim();
      const ours = [command, read(`/proc/${pid}/mountinfo`)].some(namesFolder);
      return ours ? [`${pid} ${command}`] : [];
    });
}

/** Excludes another node whose name starts with the same characters. */
function namesFolder(text: string): boolean {
  return new RegExp(`${STATE_FOLDER}(?![\\w-])`).test(text);
}

function mounts(): string[] {
  const lines = read("/proc/self/mountinfo").split("\n");
  return lines.filter((line) => namesFolder(line) || line.includes("/netns/cni-"));
}

async function links(): Promise<string[]> {
  const { stdout } = await promisify(execFile)("ip", ["-brief", "link"]);
  const names = stdout.split("\n").map((line) => line.split(/[\s@]/)[0] ?? "");
  return names.filter((name) => [NODE_ID, "pods"].includes(name));
}

async function nftTables(): Promise<string[]> {
  const { stdout } = await promisify(execFile)("nft", ["list", "tables"]);
  return stdout.split("\n").filter((line) => line.endsWith(" kube-proxy"));
}

async function namespaces(): Promise<string[]> {
  const { stdout } = await promisify(execFile)("ip", ["netns", "list"]);
  return stdout.split("\n").filter((line) => line.startsWith("cni-"));
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
