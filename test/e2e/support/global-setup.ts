import type { TestProject } from "vitest/node";
import { cachedCoderBinaries } from "../../../tools/coder/binaries.ts";
import type { CoderBinaries } from "../../../tools/coder/pins.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Absent when they have not been built on this machine. */
    coder: CoderBinaries;
  }
}

/** Gives the tests the place of Coder, and reports when there is none: it takes too long to build on the way. */
export async function setup(project: TestProject): Promise<void> {
  const binaries = await cachedCoderBinaries();
  if (binaries) project.provide("coder", binaries);
  else
    console.warn(
      "\n*** END-TO-END TESTS SKIPPED: Coder is not built yet; `make test-e2e` builds it once. ***\n",
    );
}
