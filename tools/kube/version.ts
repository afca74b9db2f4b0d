import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type BinaryName, majorOf, minorOf, type Pins } from "./pins.ts";

const VERSION_TIMEOUT_MS = 30_000;

/**
 * Fails unless the binary runs and is what the pin asks for: the same minor version of Kubernetes
 * (official archives do not exist for every patch) and the same major version of etcd.
 */
export async function checkVersion(name: BinaryName, file: string, pins: Pins): Promise<void> {
  const wanted = name === "etcd" ? pins.etcd : pins.kubernetes;
  const found = await reportedVersion(name, file);
  if (name === "etcd" ? majorOf(found) === majorOf(wanted) : minorOf(found) === minorOf(wanted)) return;
  throw new Error(`${file} is version ${found}, but tools/kube/go.mod pins ${wanted}`);
}

async function reportedVersion(name: BinaryName, file: string): Promise<string> {
  const args = name === "kubectl" ? ["version", "--client"] : ["--version"];
  try {
    const { stdout } = await promisify(execFile)(file, args, { timeout: VERSION_TIMEOUT_MS });
    return /v?(\d+\.\d+\.\d+)/.exec(stdout)?.[0] ?? "unknown";
  } catch (cause) {
    throw new Error(`${file} does not run on this machine`, { cause });
  }
}
