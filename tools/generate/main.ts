/**
 * Writes everything that is generated from the schemas, the declared permissions, the metrics, the imports
 * and the chart: CRDs, roles, reference pages, the module diagram, the names of a release and the plain
 * manifests. With `--check` it writes nothing and fails if a file is out of date.
 */
import { fileURLToPath } from "node:url";
import { differences, presentFiles, writeFiles } from "./compare.ts";
import { withInstallManifest } from "./install.ts";
import { generatedFiles } from "./outputs.ts";
import { withReleaseNames } from "./release-names.ts";

const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const wanted = await withInstallManifest(root, withReleaseNames(root, generatedFiles()));
const changes = differences(wanted, presentFiles(root));

if (!process.argv.includes("--check")) {
  writeFiles(root, wanted, changes);
  console.log(`${wanted.size} generated files, ${changes.length} changed`);
} else if (changes.length > 0) {
  for (const { path, because } of changes) console.error(`${path}: ${because}`);
  console.error("Generated files do not match their sources: run `make generate` and commit the result.");
  process.exitCode = 1;
}
