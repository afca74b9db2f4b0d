import { currentPlatform } from "kube-controller-runtime/testing/binaries";
import type { TestProject } from "vitest/node";
import { cachedCoderBinaries, coderBinaries } from "../../../tools/coder/binaries.ts";
import { type CoderBinaries, readPins } from "../../../tools/coder/pins.ts";
import { mayBuild } from "./binaries.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Absent when they have not been built on this machine. */
    coder: Pick<CoderBinaries, "coder" | "terraform">;
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

/**
 * Tells the tests where Coder is, and reports when it is not built. If it may be built, the Coders that only some
 * tests need are built while the others run.
 */
export async function setup(project: TestProject): Promise<(() => Promise<unknown>) | undefined> {
  const { name, version } = chosenCoder();
  const binaries = mayBuild()
    ? await coderBinaries(undefined, [name, "terraform"])
    : await cachedCoderBinaries();
  if (!binaries) {
    console.warn(
      "\n*** END-TO-END TESTS SKIPPED: Coder is not built yet; `make test-e2e` builds it once. ***\n",
    );
    return undefined;
  }
  project.provide("coder", { coder: binaries[name], terraform: binaries.terraform });
  project.provide("coderVersion", version);
  if (!mayBuild() || process.env.CODER) return undefined;
  const others = coderBinaries();
  // A failure is reported by the tests that need them, and at the end.
  others.catch(() => undefined);
  return () => others;
}
