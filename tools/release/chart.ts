import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import type { Files } from "../generate/outputs.ts";
import { chartFile } from "../generate/release-names.ts";
import { helmBinary } from "../helm/binary.ts";
import type { Commit } from "../image/commit.ts";
import { writeArtifact } from "../image/oci.ts";

const CHART = "charts/coder-k8s";
const CONFIG_TYPE = "application/vnd.cncf.helm.config.v1+json";
const CONTENT_TYPE = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/** A packaged chart. */
export interface PackagedChart {
  /** The file name that helm chooses. */
  readonly file: string;
  readonly content: Buffer;
  /** Chart.yaml. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/**
 * Packages the chart with helm, with the content of `files` instead of that on disk. The archive is
 * reproducible: helm takes times from the file system, so they are set to that of the commit.
 */
export async function packageChart(
  root: string,
  files: Files,
  commit: Commit | undefined,
): Promise<PackagedChart> {
  const scratch = await mkdtemp(join(tmpdir(), "coder-k8s-chart-"));
  try {
    const dir = join(scratch, basename(CHART));
    await cp(join(root, CHART), dir, { recursive: true });
    for (const [path, content] of files) {
      if (path.startsWith(`${CHART}/`)) await writeFile(join(dir, path.slice(CHART.length)), content);
    }
    await setTimes(dir, new Date(commit?.time ?? 0));
    await promisify(execFile)(await helmBinary(), ["package", dir, "--destination", scratch]);
    const [file = ""] = (await readdir(scratch)).filter((name) => name.endsWith(".tgz"));
    const metadata = parse(files.get(chartFile) ?? "");
    return { file, content: await readFile(join(scratch, file)), metadata };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function setTimes(dir: string, time: Date): Promise<void> {
  for (const path of await readdir(dir, { recursive: true })) await utimes(join(dir, path), time, time);
}

/** Writes a chart as an OCI layout, like `helm push` in a registry; returns its digest. */
export async function writeChartLayout(
  dir: string,
  name: string,
  { content, metadata }: PackagedChart,
): Promise<string> {
  const { version, description, home } = metadata as Record<string, string>;
  const facts = { title: metadata.name, description, version, source: home };
  const annotations = Object.entries(facts).map(([key, value]) => [`org.opencontainers.image.${key}`, value]);
  return writeArtifact(
    dir,
    {
      config: { mediaType: CONFIG_TYPE, content: metadata },
      file: { mediaType: CONTENT_TYPE, content },
      annotations: Object.fromEntries(annotations),
    },
    { name, tag: version ?? "" },
  );
}
