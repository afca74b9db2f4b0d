import { majorOf, minorOf, reportedVersion } from "../binaries/version.ts";
import type { BinaryName, Pins } from "./pins.ts";

/**
 * Fails unless the binary runs and is what the pin asks for: the same minor version of Kubernetes
 * (official archives do not exist for every patch) and the same major version of etcd.
 */
export async function checkVersion(name: BinaryName, file: string, pins: Pins): Promise<void> {
  const wanted = name === "etcd" ? pins.etcd : pins.kubernetes;
  const found = await reportedVersion(file, name === "kubectl" ? ["version", "--client"] : ["--version"]);
  if (name === "etcd" ? majorOf(found) === majorOf(wanted) : minorOf(found) === minorOf(wanted)) return;
  throw new Error(`${file} is version ${found}, but ${pins.module.file} pins ${wanted}`);
}
