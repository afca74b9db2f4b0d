import { currentPlatform } from "kube-controller-runtime/testing/binaries";
import type { TestProject } from "vitest/node";
import { cachedCoderBinaries } from "../../../tools/coder/binaries.ts";
import { type CoderBinaries, readPins } from "../../../tools/coder/pins.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Absent when they have not been built on this machine. */
    coder: CoderBinaries;
    /** The version of `coder` among them. */
    coderVersion: string;
  }
}

/** With CODER, the older Coder takes the place of the current one. */
function chosenCoder(): { readonly name: "coder" | "coder-old"; readonly version: string } {
  const { binaries: pinned } = readPins(currentPlatform());
  const version = process.env.CODER;
  if (!version) return { name: "coder", version: pinned.coder.version };
  const name = (["coder", "coder-old"] as const).find((each) => pinned[each].version === `v${version}`);
  if (name) return { name, version: pinned[name].version };
  const versions = [pinned.coder.version, pinned["coder-old"].version].join(" or ");
  throw new Error(`CODER=${version} is not pinned: ${versions.replaceAll("v", "")}`);
}

/** Gives the tests the place of Coder, and reports when there is none: it takes too long to build on the way. */
export async function setup(project: TestProject): Promise<void> {
  const binaries = await cachedCoderBinaries();
  if (!binaries) {
    console.warn(
      "\n*** END-TO-END TESTS SKIPPED: Coder is not built yet; `make test-e2e` builds it once. ***\n",
    );
    return;
  }
  const { name, version } = chosenCoder();
  project.provide("coder", { ...binaries, coder: binaries[name] });
  project.provide("coderVersion", version);
}
