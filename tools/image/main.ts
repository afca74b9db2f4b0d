/** Builds the operator's image as an OCI layout. */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { currentPlatform } from "kube-controller-runtime/testing/binaries";
import { releaseNames } from "../generate/release-names.ts";
import { currentCommit } from "./commit.ts";
import { buildImage } from "./image.ts";

const { values } = parseArgs({
  options: {
    platforms: { type: "string", default: `linux/${currentPlatform().arch}` },
    out: { type: "string", default: "dist/image" },
    base: { type: "string" },
    sysroot: { type: "string" },
  },
});

try {
  const digest = await buildImage({
    platforms: values.platforms.split(/[\s,]+/).filter(Boolean),
    base: values.base,
    sysroot: values.sysroot,
    names: releaseNames(),
    commit: await currentCommit(),
    out: values.out,
    log: (line) => console.error(`image: ${line}`),
  });
  console.log(`${join(values.out, "oci")}: ${values.platforms} ${digest}`);
} catch (error) {
  console.error(`image: ${(error as Error).message}`);
  process.exitCode = 1;
}
