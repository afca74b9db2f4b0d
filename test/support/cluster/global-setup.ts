import type { TestProject } from "vitest/node";
import { startCluster } from "./cluster.ts";

/** Starts the shared cluster before the first test file of a run and stops it after the last. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await startCluster({ audit: true, operatorInstalled: true });
  project.provide("cluster", cluster.connection);
  return () => cluster.stop();
}
