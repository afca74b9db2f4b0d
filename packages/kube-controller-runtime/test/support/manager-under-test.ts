import { onTestFinished } from "vitest";
import type { Condition } from "../../src/conditions.ts";
import type { Controller } from "../../src/controller/controller.ts";
import { kind } from "../../src/kinds.ts";
import type { ManagerOptions } from "../../src/manager.ts";
import type { KubeObject } from "../../src/object.ts";
import * as testing from "../../testing/manager-under-test.ts";

export { type ManagerUnderTest, marks } from "../../testing/manager-under-test.ts";

/** A kind for controllers under test. */
export interface Parent extends KubeObject {
  spec?: { text?: string; secretName?: string };
  status?: ParentStatus;
}

export interface ParentStatus {
  seen?: string;
  details?: Record<string, unknown>;
  conditions?: Condition[];
}

export const Parent = kind<Parent>("example.com/v1", { kind: "Parent", plural: "parents" });

/** Runs controllers until the test ends. */
export async function runManager(
  controllers: readonly Controller[],
  options: Partial<ManagerOptions> = {},
): Promise<testing.ManagerUnderTest> {
  const prepared = prepareManager(controllers, options);
  prepared.start();
  await prepared.clock.advance(0);
  return prepared;
}

/** The same without `run`, for tests of the start. */
export function prepareManager(
  controllers: readonly Controller[],
  options: Partial<ManagerOptions> = {},
): testing.ManagerUnderTest {
  const prepared = testing.prepareManager(controllers, options);
  prepared.api.install(Parent);
  onTestFinished(async () => void (await prepared.stop()));
  return prepared;
}
