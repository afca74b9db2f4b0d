import type { TestProject } from "vitest/node";
import { ServersOfRun } from "./servers.ts";

/** Starts what nearly every test file needs before the first of a run, the rest on demand; ends all after the last. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const servers = new ServersOfRun();
  project.provide("cluster", (await servers.cluster()).connection);
  project.provide("servers", await servers.listen());
  return () => servers.stop();
}
