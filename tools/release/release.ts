import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { withInstallManifest } from "../generate/install.ts";
import { generatedFiles } from "../generate/outputs.ts";
import { withReleaseNames } from "../generate/release-names.ts";
import { buildImage, type ImageOptions } from "../image/image.ts";
import { packageChart, writeChartLayout } from "./chart.ts";
import type { Executable } from "./executables.ts";
import { changelogSection, releaseNotes } from "./notes.ts";
import { chartName, type Published } from "./published.ts";

const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const CHECKSUMS = "checksums.txt";

/** The inputs and the output of a release. */
export interface ReleaseOptions extends ImageOptions {
  /** Skips the checks that only a published release must pass. */
  readonly dryRun: boolean;
  readonly changelog: string;
  readonly executables: readonly Executable[];
}

/**
 * Builds all parts of a release into one folder: image and chart as OCI layouts, the packaged chart, plain
 * manifests, executables, bills of materials, notes and checksums. Publishes nothing. The output is
 * reproducible.
 */
export async function buildRelease(options: ReleaseOptions): Promise<Published> {
  const { names, out, commit, dryRun } = options;
  if (!dryRun) refuseUnpublishable(options);
  const section = changelogSection(options.changelog, names.version, { orUnreleased: dryRun });
  await emptyFolder(out);

  const files = await withInstallManifest(root, withReleaseNames(root, generatedFiles(), names));
  const chart = await packageChart(root, files, commit);
  await writeFile(join(out, chart.file), chart.content);
  await writeFile(join(out, "install.yaml"), files.get("config/install.yaml") ?? "");
  await writeFile(join(out, "crds.yaml"), crdsIn(files));
  for (const { file, build } of options.executables) await build(join(out, file), names);

  const published = {
    image: { name: names.image, digest: await releaseImage(options) },
    chart: {
      name: chartName(names),
      digest: await writeChartLayout(join(out, "chart"), chartName(names), chart),
    },
  };
  await writeFile(join(out, "digests.json"), `${JSON.stringify(published, undefined, 2)}\n`);
  await writeFile(join(out, "release-notes.md"), releaseNotes(section, names, published));
  await writeFile(join(out, CHECKSUMS), await checksums(out));
  return published;
}

/** A published release is permanent, so its origin must be correct. */
function refuseUnpublishable({ names, commit }: ReleaseOptions): void {
  const local = [names.image, names.repository].find((name) => /^(https:\/\/)?localhost\//.test(name));
  if (local !== undefined) throw new Error(`set IMAGE and REPOSITORY: "${local}" is a placeholder`);
  if (commit === undefined) throw new Error("a release requires a commit, but this is not a repository");
  if (commit.revision.endsWith("-dirty")) throw new Error("commit your changes first");
}

/** Other files in the folder belong to the user. */
async function emptyFolder(dir: string): Promise<void> {
  if (existsSync(dir) && !existsSync(join(dir, CHECKSUMS)) && (await readdir(dir)).length > 0) {
    throw new Error(
      `${dir} is not empty and does not contain a release: choose another folder with OUT, or remove it`,
    );
  }
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
}

async function releaseImage(options: ReleaseOptions): Promise<string> {
  const scratch = join(options.out, "image.partial");
  const digest = await buildImage({ ...options, out: scratch });
  await rename(join(scratch, "oci"), join(options.out, "image"));
  for (const name of await readdir(scratch)) {
    await rename(join(scratch, name), join(options.out, `coder-k8s-${options.names.version}-${name}`));
  }
  await rm(scratch, { recursive: true });
  return digest;
}

function crdsIn(files: ReadonlyMap<string, string>): string {
  const crds = [...files].filter(([path]) => path.startsWith("config/crd/"));
  return crds.map(([, content]) => content).join("---\n");
}

/** In the format of `sha256sum`, for all files except those in the layouts, whose names are their digests. */
async function checksums(dir: string): Promise<string> {
  const entries = await readdir(dir, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  const lines = names.sort().map(async (name) => {
    const digest = createHash("sha256").update(await readFile(join(dir, name)));
    return `${digest.digest("hex")}  ${name}\n`;
  });
  return (await Promise.all(lines)).join("");
}
